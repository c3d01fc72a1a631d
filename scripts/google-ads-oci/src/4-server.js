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
