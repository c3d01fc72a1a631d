/** Downloads what a route answers to a POST. Gives the code of a refusal; null when the file was saved. */
export async function saveFile(url: string, body: unknown, name: string): Promise<string | null> {
  try {
    const response = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
    if (!response.ok) {
      const problem: unknown = await response.json().catch(() => null);
      return typeof problem === "object" && problem !== null && "code" in problem ? String(problem.code) : "INTERNAL";
    }
    saveText(await response.text(), name);
    return null;
  } catch {
    return "OFFLINE";
  }
}

export function saveText(text: string, name: string, type = "application/json"): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
