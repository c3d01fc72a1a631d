import { type Context, createContext, runInContext } from "node:vm";

/** What ES5 has, by the object it hangs on. All else is taken away, so that a script that leans on a newer runtime fails here. */
const es5: Record<string, string> = {
  Object:
    "length name prototype create defineProperty defineProperties freeze getOwnPropertyDescriptor getOwnPropertyNames getPrototypeOf isExtensible isFrozen isSealed keys preventExtensions seal",
  "Object.prototype":
    "constructor hasOwnProperty isPrototypeOf propertyIsEnumerable toLocaleString toString valueOf __proto__ __defineGetter__ __defineSetter__ __lookupGetter__ __lookupSetter__",
  Array: "length name prototype isArray",
  "Array.prototype":
    "length constructor concat every filter forEach indexOf join lastIndexOf map pop push reduce reduceRight reverse shift slice some sort splice toLocaleString toString unshift",
  String: "length name prototype fromCharCode",
  "String.prototype":
    "length constructor charAt charCodeAt concat indexOf lastIndexOf localeCompare match replace search slice split substr substring toLocaleLowerCase toLocaleUpperCase toLowerCase toString toUpperCase trim valueOf",
  Number: "length name prototype MAX_VALUE MIN_VALUE NaN NEGATIVE_INFINITY POSITIVE_INFINITY",
  Math: "E LN10 LN2 LOG10E LOG2E PI SQRT1_2 SQRT2 abs acos asin atan atan2 ceil cos exp floor log max min pow random round sin sqrt tan",
  globalThis:
    "Object Function Array String Boolean Number Date RegExp Error EvalError RangeError ReferenceError SyntaxError TypeError URIError Math JSON NaN Infinity undefined parseInt parseFloat isNaN isFinite decodeURI decodeURIComponent encodeURI encodeURIComponent eval",
};

/** A world of its own with nothing but ES5 and what is given. */
export function createEs5Context(globals: Record<string, unknown>): Context {
  const context = createContext({});
  runInContext(
    `(function (es5) {
      var reach = Object.getOwnPropertyNames(es5).map(function (path) {
        return [path === "globalThis" ? globalThis : path.split(".").reduce(function (at, part) { return at[part]; }, globalThis), es5[path].split(" ")];
      });
      reach.forEach(function (pair) {
        Object.getOwnPropertyNames(pair[0]).forEach(function (name) { if (pair[1].indexOf(name) < 0) delete pair[0][name]; });
      });
    })`,
    context,
  )(es5);
  for (const [name, value] of Object.entries(globals)) context[name] = value;
  return context;
}
