import postgres from "postgres";

/** One step of a plan, with the rows that it gave or threw away. */
interface PlanStep {
  name: string;
  /** What it read, if it reads a table. */
  table: string | undefined;
  rows: number;
}

interface PlanNode {
  "Node Type": string;
  "Relation Name"?: string;
  "Actual Rows": number;
  "Actual Loops": number;
  "Rows Removed by Filter"?: number;
  "Rows Removed by Join Filter"?: number;
  Plans?: PlanNode[];
}

export interface WatchedPlans {
  sql: postgres.Sql;
  /** Runs `work` on `sql` and gives its answer with every step of every statement inside it, also of those inside functions. */
  stepsOf<T>(work: () => Promise<T>): Promise<{ answer: T; steps: PlanStep[] }>;
}

/** A connection whose plans are looked at while they run. */
export async function watchPlans(adminUrl: string): Promise<WatchedPlans> {
  let steps: PlanStep[] = [];
  const note = (message = "") => {
    const json = message.match(/plan:\n([\s\S]*)$/)?.[1];
    if (!json) return;
    const { Plan, "Query Text": text } = JSON.parse(json);
    const visit = (node: PlanNode): void => {
      const each = node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0) + (node["Rows Removed by Join Filter"] ?? 0);
      steps.push({ name: `${node["Node Type"]} in ${text}`, table: node["Relation Name"], rows: each * node["Actual Loops"] });
      for (const part of node.Plans ?? []) visit(part);
    };
    visit(Plan);
  };
  const sql = postgres(adminUrl, { max: 1, onnotice: ({ message }) => note(message) });
  await sql`load 'auto_explain'`;
  await sql.unsafe(`set auto_explain.log_min_duration = 0; set auto_explain.log_analyze = on; set auto_explain.log_timing = off;
    set auto_explain.log_nested_statements = on; set auto_explain.log_level = 'notice'; set auto_explain.log_format = 'json'`);
  return {
    sql,
    async stepsOf(work) {
      steps = [];
      const answer = await work();
      return { answer, steps };
    },
  };
}
