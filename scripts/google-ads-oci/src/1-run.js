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
