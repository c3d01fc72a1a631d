import { readFileSync } from "node:fs";
import { parseSync } from "rolldown/utils";
import { expect, test } from "vitest";
import { renderScript } from "#scripts/google-ads-oci/render-script.ts";
import { everyCase } from "#tests/support/every-case.ts";

const es5Nodes = new Set(
  `Program FunctionDeclaration FunctionExpression VariableDeclaration VariableDeclarator ExpressionStatement BlockStatement EmptyStatement
   ReturnStatement IfStatement ForStatement ForInStatement WhileStatement DoWhileStatement BreakStatement ContinueStatement ThrowStatement
   TryStatement CatchClause SwitchStatement SwitchCase LabeledStatement Identifier Literal ThisExpression ArrayExpression ObjectExpression
   Property UnaryExpression UpdateExpression BinaryExpression AssignmentExpression LogicalExpression MemberExpression
   ConditionalExpression CallExpression NewExpression SequenceExpression ParenthesizedExpression`.split(/\s+/),
);
const newFlags = ["async", "generator", "shorthand", "method", "optional"];
const newOperators = ["**", "**=", "??", "??=", "||=", "&&="];

type Node = Record<string, unknown>;

/** What a piece of code has that ES5 has not. */
function newerThanEs5(code: string): string[] {
  const { program, errors } = parseSync("script.js", code, { sourceType: "script" });
  const found = errors.map((error) => error.message);
  const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null && "type" in value;
  const visit = (node: Node): void => {
    if (!es5Nodes.has(String(node.type))) found.push(String(node.type));
    found.push(...newFlags.filter((flag) => node[flag] === true));
    if (newOperators.includes(String(node.operator))) found.push(String(node.operator));
    if (node.type === "VariableDeclaration" && node.kind !== "var") found.push(String(node.kind));
    if (node.type === "Property" && node.computed) found.push("computed key");
    if (node.type === "CatchClause" && !node.param) found.push("catch without a name");
    if (node.type === "Literal" && /^0[bo]|^\d.*(_|n$)|^\/.*\/[gim]*[^gim/]+$/i.test(String(node.raw))) found.push(String(node.raw));
    for (const value of Object.values(node)) {
      for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) visit(child);
    }
  };
  visit(program as unknown as Node); // walked by shape, whatever the kind
  // A comma after the last argument leaves no trace in the tree.
  if (/,\s*\)/.test(code)) found.push("trailing comma");
  return found;
}

// Guarantee: customers paste what was reviewed.
test("the script is what its parts give", () => {
  expect(readFileSync("scripts/google-ads-oci/GoogleAdsScript.js", "utf8")).toBe(renderScript());
});

// Guarantee: the file runs in whatever version of the Google Ads runtime a customer's account has.
test("the script is ES5", () => {
  expect(newerThanEs5(readFileSync("scripts/google-ads-oci/GoogleAdsScript.js", "utf8"))).toEqual([]);
});

test("what is newer than ES5 is found", () => {
  everyCase(
    [
      "let a = 1;",
      "const a = 1;",
      "var f = () => 1;",
      "var s = `a`;",
      "class A {}",
      "for (var a of []) {}",
      "var a = { b };",
      "var a = { b() {} };",
      "var a = { [b]: 1 };",
      "f(...a);",
      "var { a } = b;",
      "function f(a = 1) {}",
      "a?.b;",
      "a ?? b;",
      "a ** b;",
      "async function f() {}",
      "function* f() {}",
      "try {} catch {}",
      "f(a,);",
      "var a = 1n;",
      "var a = 1_000;",
      "var a = 0b1;",
      "/a/u.test(b);",
    ],
    (code) => {
      expect(newerThanEs5(code)).not.toEqual([]);
    },
  );
});
