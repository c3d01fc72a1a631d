/**
 * OpsMantik for Google Ads: fetches sealed conversions, uploads them to this account and reports back what was handed over.
 *
 * Paste the whole file as a new script in the account that owns the conversion actions, fill in the three values below, press
 * Preview (nothing is sent), then schedule it hourly. What the log lines mean is in the README beside this file.
 *
 * It is plain ES5, so that it runs in every version of the Google Ads runtime.
 */

// A value left empty here is read from the script property of the same name.
var OPSMANTIK_SITE_ID = "";
var OPSMANTIK_API_KEY = "";
var OPSMANTIK_BASE_URL = "{{OPSMANTIK_BASE_URL}}";

var SCRIPT_VERSION = "1.2.0";

// Google ends a run after 30 minutes. After 25 no new page is begun; no wait may reach past 28.
var NEW_PAGE_UNTIL_MS = 25 * 60 * 1000;
var WAIT_UNTIL_MS = 28 * 60 * 1000;
var RUN_ENDS_AFTER_MS = 31 * 60 * 1000;
var ATTEMPTS_MAX = 5;
var WAIT_MAX_SECONDS = 300; // the longest sleep that Google allows
var ACK_CHUNK = 500;
var UNACKED_CHUNK = 100; // with its claims within the 9 KB of a script property
var UNACKED_PREFIX = "OPSMANTIK_UNACKED_";
var PREVIEW_ROWS = 50; // a log holds 100 KB

var COLUMNS = ["Order ID", "Conversion name", "Conversion time", "Conversion value", "Conversion currency"];

// In order of precedence. Each kind goes into a file of its own with its own column: Google cannot read a wbraid or gbraid in
// the column of the gclid, and a file that it refuses takes no conversion of another kind with it.
var CLICK_KINDS = [
  { field: "gclid", column: "Google Click ID" },
  { field: "wbraid", column: "WBRAID" },
  { field: "gbraid", column: "GBRAID" },
];

var ID_PATTERN = /^(seal|signal|pv)_[0-9A-Za-z-]{1,64}$/;
var TEST_PATTERN = /^test_[0-9a-f-]{36}$/; // never an id of a row that is sent
var TIME_PATTERN = /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01]) ([01]\d|2[0-3]):[0-5]\d:[0-5]\d[+-](0\d|1[0-4])[0-5]\d$/;

/** Google Ads calls it. */
function main() {
  var run = { startedAt: Date.now(), settings: readSettings(), token: "", files: 0, pages: 0, sent: 0, invalid: 0, failed: 0, notes: [] };
  run.id = run.startedAt + "-" + Math.random().toString(36).slice(2, 10);
  checkColumns();
  log("version " + SCRIPT_VERSION + ", site " + run.settings.siteId + ", server " + run.settings.baseUrl);
  verify(run);
  if (AdsApp.getExecutionInfo().isPreview()) {
    previewRun(run);
  } else {
    try {
      deliverRun(run);
    } finally {
      releaseNotes(run);
    }
  }
}

/** Says what would be sent. Claims, uploads and acknowledges nothing: in preview apply() uploads nothing either. */
function previewRun(run) {
  var answer = parseJson(exportRows(run, false));
  var items = answer && isArray(answer.items) ? answer.items : [];
  log("PREVIEW: " + items.length + " conversions are waiting. Nothing is sent or acknowledged in preview.");
  for (var i = 0; i < items.length && i < PREVIEW_ROWS; i += 1) {
    var row = items[i];
    var problem = rowProblem(row);
    log(
      "PREVIEW: " +
        (problem ? "would refuse (" + problem + ") " : "would send ") +
        [
          row && row.orderId,
          row && row.conversionName,
          row && row.conversionTime,
          row && row.conversionValue,
          row && row.conversionCurrency,
        ].join(" | ")
    );
  }
  if (items.length > PREVIEW_ROWS) log("PREVIEW: and " + (items.length - PREVIEW_ROWS) + " more");
  testConversion(run, answer && answer.test);
}

/** One conversion that never happened, checked as a real one is, up to the upload. It is made for this preview and kept nowhere. */
function testConversion(run, row) {
  if (!row) return log("TEST: none, because no visit with a click id and consent is known yet");
  var found = { hasAction: false, problem: TEST_PATTERN.test(row.id) ? fieldProblem(row) : "INVALID_ID" };
  if (!found.problem) found = findAction(row.conversionName);
  if (!found.problem) found.problem = previewFile(run, row);
  log("TEST: " + row.orderId + " | " + row.conversionName + ": " + (found.problem || "passed"));
  try {
    callServer(run, {
      path: "/api/oci/test-answer",
      payload: {
        siteId: run.settings.siteId,
        orderId: row.orderId,
        problem: found.problem || null,
        field: found.problem ? row.conversionName : null,
        hasAction: found.hasAction,
      },
    });
  } catch (error) {
    log("WARNING: OpsMantik did not take the test's answer: " + error.message);
  }
}

/** Whether the account has the conversion action, and whether it counts what is imported from clicks. */
function findAction(name) {
  var action = null;
  try {
    var rows = AdsApp.search(
      "SELECT conversion_action.name, conversion_action.type, conversion_action.status, conversion_action.counting_type " +
        "FROM conversion_action WHERE conversion_action.status != 'REMOVED'"
    );
    while (rows.hasNext()) {
      var each = rows.next().conversionAction;
      if (each.name === name) action = each;
    }
  } catch (error) {
    log("WARNING: the account's conversion actions could not be read: " + error);
    return { hasAction: false, problem: "ACCOUNT_NOT_READ" };
  }
  if (!action) return { hasAction: false, problem: "NO_CONVERSION_ACTION" };
  if (action.type !== "UPLOAD_CLICKS") return { hasAction: false, problem: "NOT_FROM_CLICKS" };
  if (action.status !== "ENABLED") return { hasAction: false, problem: "ACTION_DISABLED" };
  return { hasAction: true, problem: action.countingType === "ONE_PER_CLICK" ? "ONE_PER_CLICK" : "" };
}

/** The file as it would be uploaded. In a preview Google reads it and keeps nothing. */
function previewFile(run, row) {
  try {
    var kind = clickKindOf(row);
    makeFile(run, kind, [row]).preview();
    return "";
  } catch (error) {
    log("WARNING: Google does not take the file: " + error);
    return "PREVIEW_FAILED";
  }
}

function deliverRun(run) {
  acknowledgeEarlier(run);
  var more = true;
  while (more) {
    var response = exportRows(run, true);
    var rows = parseJson(response);
    if (!isArray(rows)) throw new Error("OpsMantik: the export is not a list. Is OPSMANTIK_BASE_URL right?");
    run.pages += 1;
    log("page " + run.pages + ": " + rows.length + " conversions claimed");
    deliverPage(run, rows);
    more = header(response, "x-opsmantik-more") === "true" && rows.length > 0;
    // What Google refuses now it will refuse on the next page too, and each try costs a conversion one of its attempts.
    if (more && run.failed > 0) break;
    if (more && elapsed(run) > NEW_PAGE_UNTIL_MS) {
      log("time is up: the rest goes with the next run");
      break;
    }
  }
  var summary = run.sent + " handed to Google, " + run.invalid + " refused, " + run.failed + " failed";
  log("done: " + summary);
  // A run that ends with an error is shown as failed in Google Ads, and its owner gets an e-mail.
  if (run.failed > 0) throw new Error("OpsMantik: " + summary);
}

function deliverPage(run, rows) {
  var valid = {};
  var invalid = {};
  for (var i = 0; i < rows.length; i += 1) {
    var row = rows[i];
    var problem = rowProblem(row);
    if (problem) {
      run.invalid += 1;
      addTo(invalid, problem, row);
    } else {
      addTo(valid, clickKindOf(row).field, row);
    }
  }
  for (var k = 0; k < CLICK_KINDS.length; k += 1) {
    if (valid[CLICK_KINDS[k].field]) deliverFile(run, CLICK_KINDS[k], valid[CLICK_KINDS[k].field]);
  }
  for (var code in invalid) {
    if (hasOwn(invalid, code)) reportInvalid(run, code, invalid[code]);
  }
}

function deliverFile(run, kind, rows) {
  try {
    uploadFile(run, kind, rows);
  } catch (error) {
    run.failed += rows.length;
    log("ERROR: Google took none of " + rows.length + " conversions with " + kind.field + ": " + error);
    reportFailed(run, rows, { code: "APPLY_FAILED", message: String(error), category: "TRANSIENT" });
    return;
  }
  run.sent += rows.length;
  noteUnacked(run, rows);
  acknowledge(run, rows);
  forgetNotes(run);
}

/** apply() returns nothing: what Google thinks of a row is only seen under Tools > Bulk actions > Uploads. */
function uploadFile(run, kind, rows) {
  makeFile(run, kind, rows).apply();
  log("file " + run.files + ": " + rows.length + " conversions with " + kind.field + " handed to Google");
}

function makeFile(run, kind, rows) {
  var columns = columnsOf(kind);
  var upload = AdsApp.bulkUploads().newCsvUpload(columns, {
    moneyInMicros: false,
    timeZone: AdsApp.currentAccount().getTimeZone(),
  });
  upload.forOfflineConversions();
  run.files += 1;
  upload.setFileName(
    "opsmantik_" + new Date(run.startedAt).toISOString().replace(/[:.]/g, "-") + "_" + run.files + "_" + kind.field + ".csv"
  );
  for (var i = 0; i < rows.length; i += 1) {
    var cells = toCells(rows[i], kind);
    checkCells(cells, columns);
    upload.append(cells);
  }
  return upload;
}

/** Why a row cannot be sent; empty when it can. */
function rowProblem(row) {
  if (!row || typeof row.id !== "string" || !ID_PATTERN.test(row.id)) return "INVALID_ID";
  return fieldProblem(row);
}

function fieldProblem(row) {
  if (!isText(row.orderId, 64)) return "INVALID_ORDER_ID";
  var kind = clickKindOf(row);
  if (!kind) return "MISSING_CLICK_ID";
  if (!isText(row[kind.field], 512) || /\s/.test(row[kind.field])) return "INVALID_CLICK_ID";
  if (!isText(row.conversionName, 255)) return "INVALID_CONVERSION_NAME";
  if (typeof row.conversionTime !== "string" || !TIME_PATTERN.test(row.conversionTime)) return "INVALID_CONVERSION_TIME";
  if (typeof row.conversionValue !== "number" || !isFinite(row.conversionValue) || row.conversionValue < 0)
    return "INVALID_CONVERSION_VALUE";
  if (typeof row.conversionCurrency !== "string" || !/^[A-Z]{3}$/.test(row.conversionCurrency)) return "INVALID_CURRENCY";
  return "";
}

/** The one click id that a row is sent with: Google wants exactly one, and the first of these it has says most. */
function clickKindOf(row) {
  for (var i = 0; i < CLICK_KINDS.length; i += 1) {
    if (row[CLICK_KINDS[i].field]) return CLICK_KINDS[i];
  }
  return null;
}

function columnsOf(kind) {
  return [kind.column].concat(COLUMNS);
}

function toCells(row, kind) {
  var cells = {
    "Order ID": row.orderId,
    "Conversion name": row.conversionName,
    "Conversion time": row.conversionTime,
    "Conversion value": row.conversionValue,
    "Conversion currency": row.conversionCurrency,
  };
  cells[kind.column] = row[kind.field];
  return cells;
}

/** append() drops what is not a declared column without a word, so a misspelt one would lose its values. */
function checkCells(cells, columns) {
  var given = Object.keys(cells).sort().join(", ");
  var declared = columns.slice().sort().join(", ");
  if (given !== declared) throw new Error("OpsMantik: the row has the columns " + given + ", the file has " + declared);
}

/** Before anything is claimed. */
function checkColumns() {
  for (var i = 0; i < CLICK_KINDS.length; i += 1) checkCells(toCells({}, CLICK_KINDS[i]), columnsOf(CLICK_KINDS[i]));
}

/** Safe to repeat: an acknowledged conversion stays acknowledged, and a second call gets the same answer. */
function acknowledge(run, rows) {
  for (var start = 0; start < rows.length; start += ACK_CHUNK) {
    var chunk = rows.slice(start, start + ACK_CHUNK);
    var answer = report(run, "/api/oci/ack", chunk, {});
    log("acknowledged " + chunk.length + ", the server has " + (answer && answer.updated) + " of them as delivered");
  }
}

/** Page views are never reported as failed: they come again by themselves. */
function reportFailed(run, rows, failure) {
  var reportable = rows.filter(function (row) {
    return row.id.indexOf("pv_") !== 0;
  });
  for (var start = 0; start < reportable.length; start += ACK_CHUNK) {
    report(run, "/api/oci/ack-failed", reportable.slice(start, start + ACK_CHUNK), {
      errorCode: failure.code,
      errorMessage: failure.message.slice(0, 1024),
      errorCategory: failure.category,
    });
  }
}

/** With the claim of each row, so that the server does not take this run's news for a later run's. */
function report(run, path, rows, payload) {
  payload.siteId = run.settings.siteId;
  payload.queueIds = idsOf(rows);
  payload.claims = {};
  rows.forEach(function (row) {
    if (row.claim) payload.claims[row.id] = row.claim;
  });
  var answer = parseJson(callServer(run, { path: path, payload: payload }));
  if (answer && answer.warnings) log("WARNING: " + JSON.stringify(answer.warnings).slice(0, 500));
  return answer;
}

function reportInvalid(run, code, rows) {
  log("WARNING: " + rows.length + " conversions cannot be sent: " + code);
  // Without a proper id there is nothing that the server could be told about.
  if (code === "INVALID_ID") return;
  reportFailed(run, rows, { code: code, message: "The script refused the row: " + code, category: "VALIDATION" });
}

/**
 * A run can end between handing over and acknowledging. What it notes here is acknowledged by a later run, before that one asks
 * for more. Should even the note be lost, the conversions come again, and their Order ID makes the second upload a duplicate.
 *
 * Two runs can overlap, so each writes notes of its own and leaves those of a run that may still be at work alone: a note says
 * until when. Google ends a run after 30 minutes; a run that comes to its own end, well or not, releases what it leaves behind.
 */
function noteUnacked(run, rows) {
  for (var start = 0; start < rows.length; start += UNACKED_CHUNK) {
    var claims = {};
    rows.slice(start, start + UNACKED_CHUNK).forEach(function (row) {
      addTo(claims, row.claim || "", row.id);
    });
    writeNote(run, UNACKED_PREFIX + run.id + "_" + run.files + "_" + start, claims);
  }
}

/** As this run's, whoever began it: nobody else touches it while this run may be at work. */
function writeNote(run, key, claims) {
  run.notes.push({ key: key, claims: claims });
  setNote(key, { busyUntil: run.startedAt + RUN_ENDS_AFTER_MS, claims: claims });
}

function setNote(key, note) {
  try {
    properties().setProperty(key, JSON.stringify(note));
  } catch (error) {
    log("WARNING: could not note what was handed over: " + error);
  }
}

function forgetNotes(run) {
  try {
    run.notes.forEach(function (note) {
      properties().deleteProperty(note.key);
    });
  } catch (error) {
    log("WARNING: could not clear the notes of what was handed over; they are sent once more, which does no harm: " + error);
  }
  run.notes = [];
}

function releaseNotes(run) {
  run.notes.forEach(function (note) {
    setNote(note.key, { busyUntil: 0, claims: note.claims });
  });
}

/** The notes that nobody is at work on become this run's; what they hold as rows. */
function takeOverNotes(run) {
  var notes = properties().getProperties();
  var rows = [];
  Object.keys(notes).forEach(function (key) {
    if (key.indexOf(UNACKED_PREFIX) !== 0) return;
    var note = readNote(notes[key]);
    if (note.busyUntil > Date.now()) return;
    writeNote(run, key, note.claims);
    Object.keys(note.claims).forEach(function (claim) {
      note.claims[claim].forEach(function (id) {
        rows.push({ id: id, claim: claim });
      });
    });
  });
  return rows;
}

/** Version 1.0 wrote the ids with commas between them, and nothing else. */
function readNote(text) {
  if (text.charAt(0) !== "{") return { busyUntil: 0, claims: { "": text.split(",") } };
  try {
    return JSON.parse(text);
  } catch (_error) {
    return { busyUntil: 0, claims: {} };
  }
}

function acknowledgeEarlier(run) {
  var rows = takeOverNotes(run);
  if (rows.length > 0) log("an earlier run handed " + rows.length + " conversions to Google and could not say so");
  try {
    acknowledge(run, rows);
  } catch (error) {
    if (!error.isRefusal) throw error;
    log("WARNING: the server does not take them: " + error.message);
  }
  forgetNotes(run);
}

function verify(run) {
  var response = callServer(run, {
    path: "/api/oci/v2/verify",
    payload: { siteId: run.settings.siteId },
    apiKey: run.settings.apiKey,
  });
  var answer = parseJson(response);
  if (!answer || !isText(answer.session_token, 8192)) throw new Error("OpsMantik: verify gave no session. Is OPSMANTIK_BASE_URL right?");
  run.token = answer.session_token;
  log("verified");
}

/** A lost answer is asked for again: what the first one claimed comes back to the queue by itself. */
function exportRows(run, isClaiming) {
  return callServer(run, {
    path:
      "/api/oci/google-ads-export?siteId=" +
      encodeURIComponent(run.settings.siteId) +
      "&markAsExported=" +
      isClaiming +
      (isClaiming ? "" : "&test=true"),
  });
}

/** Repeats what may pass by itself (no connection, 429, 5xx), renews an expired session once, and gives up on all else at once. */
function callServer(run, request) {
  var isRenewed = false;
  var attempt = 0;
  while (true) {
    var response = fetchOnce(run, request);
    var status = response ? response.getResponseCode() : 0;
    if (status >= 200 && status < 300) return response;
    if (status === 401 && !request.apiKey && !isRenewed) {
      isRenewed = true;
      log("the session has expired");
      verify(run);
      continue;
    }
    var problem = response ? problemOf(response) : "no connection";
    if (status !== 0 && status !== 429 && status < 500) throw refusal(request, problem);
    attempt += 1;
    if (attempt >= ATTEMPTS_MAX) throw new Error("OpsMantik: gave up on " + pathOf(request) + ": " + problem);
    waitBeforeRetry(run, request, { problem: problem, seconds: secondsToWait(response, attempt) });
  }
}

/** The answer, or null when there was none. Nothing else happens inside the try, so no refusal is mistaken for a lost connection. */
function fetchOnce(run, request) {
  var headers = { "x-opsmantik-script-version": SCRIPT_VERSION };
  if (request.apiKey) {
    headers["x-api-key"] = request.apiKey;
  } else {
    headers.Authorization = "Bearer " + run.token;
  }
  // A redirect is not followed: it would carry the key to an address that nobody entered.
  var options = { method: request.payload ? "post" : "get", headers: headers, muteHttpExceptions: true, followRedirects: false };
  if (request.payload) {
    options.contentType = "application/json";
    options.payload = JSON.stringify(request.payload);
  }
  try {
    return UrlFetchApp.fetch(run.settings.baseUrl + request.path, options);
  } catch (error) {
    log("WARNING: " + pathOf(request) + ": " + error);
    return null;
  }
}

function waitBeforeRetry(run, request, reason) {
  var waitMs = Math.ceil(reason.seconds * 1000);
  if (reason.seconds > WAIT_MAX_SECONDS || elapsed(run) + waitMs > WAIT_UNTIL_MS) {
    throw new Error("OpsMantik: " + pathOf(request) + ": " + reason.problem + ". The next run tries again.");
  }
  log("WARNING: " + pathOf(request) + ": " + reason.problem + ". Trying again in " + Math.ceil(reason.seconds) + " s");
  Utilities.sleep(waitMs);
}

/** What the server asks for, else 2, 4, 8, 16 seconds less up to half, so that many accounts do not come back at once. */
function secondsToWait(response, attempt) {
  var asked = response ? header(response, "retry-after") : "";
  if (/^\d{1,6}$/.test(asked)) return Number(asked);
  var at = Date.parse(asked);
  if (!isNaN(at)) return Math.max(0, (at - Date.now()) / 1000);
  return Math.pow(2, attempt) * (1 - Math.random() / 2);
}

function refusal(request, problem) {
  var error = new Error("OpsMantik: " + pathOf(request) + " was refused: " + problem);
  error.isRefusal = true;
  return error;
}

function problemOf(response) {
  var status = response.getResponseCode();
  if (status >= 300 && status < 400)
    return "HTTP " + status + ", redirects to " + header(response, "location") + ". Enter that address as OPSMANTIK_BASE_URL";
  var body = null;
  try {
    body = JSON.parse(response.getContentText());
  } catch (_error) {
    // A proxy's own page: the status has to do.
  }
  var code = body && (body.code || body.error);
  var message = body && (body.message || body.detail);
  return ("HTTP " + status + (code ? " " + code : "") + (message ? ": " + message : "")).slice(0, 300);
}

/** Servers differ in how they write the names of headers. */
function header(response, name) {
  var headers = response.getHeaders();
  for (var key in headers) {
    if (hasOwn(headers, key) && key.toLowerCase() === name) return String(headers[key]);
  }
  return "";
}

function parseJson(response) {
  try {
    return JSON.parse(response.getContentText());
  } catch (_error) {
    throw new Error("OpsMantik: the answer is not JSON. Is OPSMANTIK_BASE_URL right?");
  }
}

function readSettings() {
  var siteId = setting("OPSMANTIK_SITE_ID", OPSMANTIK_SITE_ID);
  var baseUrl = setting("OPSMANTIK_BASE_URL", OPSMANTIK_BASE_URL).replace(/\/+$/, "");
  if (!/^[0-9a-f]{32}$/.test(siteId))
    throw new Error("OpsMantik: OPSMANTIK_SITE_ID must be the 32 characters shown in the site's settings");
  // The key must not travel in the clear. A server on this machine is for tests.
  if (!/^https:\/\/[^/\s]+/.test(baseUrl) && !/^http:\/\/(localhost|127\.0\.0\.1)(:|$)/.test(baseUrl)) {
    throw new Error("OpsMantik: OPSMANTIK_BASE_URL must be an https:// address");
  }
  return { siteId: siteId, apiKey: setting("OPSMANTIK_API_KEY", OPSMANTIK_API_KEY), baseUrl: baseUrl };
}

/** The value at the top of the file, else the script property. A placeholder that nobody filled in counts as empty. */
function setting(name, constant) {
  var value = constant && constant.indexOf("{{") !== 0 ? constant : properties().getProperty(name);
  var text = String(value || "").trim();
  if (!text) throw new Error("OpsMantik: " + name + " is missing. Fill it in at the top of the script or as a script property.");
  return text;
}

function properties() {
  return PropertiesService.getScriptProperties();
}

/** Never a key, a session or a click id: logs are read by everybody with access to the account. */
function log(text) {
  Logger.log("OpsMantik | " + text);
}

function elapsed(run) {
  return Date.now() - run.startedAt;
}

function pathOf(request) {
  return request.path.split("?")[0];
}

function idsOf(rows) {
  return rows.map(function (row) {
    return row.id;
  });
}

function addTo(groups, name, row) {
  if (!hasOwn(groups, name)) groups[name] = [];
  groups[name].push(row);
}

function isText(value, lengthMax) {
  return typeof value === "string" && value.length > 0 && value.length <= lengthMax;
}

function isArray(value) {
  return Object.prototype.toString.call(value) === "[object Array]";
}

function hasOwn(object, key) {
  return Object.prototype.hasOwnProperty.call(object, key);
}
