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
