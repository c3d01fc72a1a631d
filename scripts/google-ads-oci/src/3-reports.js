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
