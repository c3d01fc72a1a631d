import { describe, expect, test } from "vitest";
import { isCommonPassword } from "#lib/auth/common-passwords.ts";

// Guarantee: what an attacker tries first, by list or by rule, is nobody's password.
describe("guessed first", () => {
  test.each([
    "password123",
    "Password1!",
    "P@ssw0rd2026",
    "passwordpassword",
    "1234567890",
    "0987654321",
    "05321234567",
    "qwertyuiop",
    "qwerty12345",
    "1q2w3e4r5t",
    "1qaz2wsx3edc",
    "aaaaaaaaaa",
    "abcabcabcabc",
    "abcdefghij",
    "asdfghjkl123",
    "iloveyou123",
    "galatasaray1905",
    "Fenerbahçe1907",
    "Beşiktaş.1903",
    "Şifre12345",
    "istanbul34!",
    "administrator",
    "welcome2026!",
    "opsmantik2026",
    "mehmet1985.",
  ])("%s is refused", (password) => {
    expect(isCommonPassword(password)).toBe(true);
  });

  test("one's own address is refused", () => {
    expect(isCommonPassword("elif.demir-99", "elif.demir@akdere.test")).toBe(true);
  });
});

test.each([
  "the-first-password",
  "correct-horse-battery",
  "kestane kebap yemesi sevap",
  "tR7#mq2Lxv",
  "mavi pencere 7 kedi",
  "48151623421337900042",
])("%s is accepted", (password) => {
  expect(isCommonPassword(password, "elif@akdere.test")).toBe(false);
});

test("a long password is judged at once", () => {
  const before = process.cpuUsage(); // of this process alone, however busy the machine is
  isCommonPassword(`${"ab".repeat(36)}x`);
  expect(process.cpuUsage(before).user).toBeLessThan(200_000); // µs; a pattern that tries every way would take minutes
});
