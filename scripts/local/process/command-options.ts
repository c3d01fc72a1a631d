import { parseArgs } from "node:util";

export interface CommandOptions {
  port: number;
  reset: boolean;
  open: boolean;
}

const defaultPort = 3000;

/** Options of the demo and the dev server. Prints the help text and exits when asked to, or when one is wrong. */
export function commandOptions(usage: string): CommandOptions {
  try {
    const { values } = parseArgs({
      options: {
        "no-open": { type: "boolean", default: false },
        port: { type: "string", default: String(defaultPort) },
        reset: { type: "boolean", default: false },
        help: { type: "boolean", short: "h", default: false },
      },
    });
    if (values.help) {
      console.log(usage);
      process.exit(0);
    }
    const port = Number(values.port);
    if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new Error(`--port ${values.port} is not a port.`);
    return { port, reset: values.reset, open: !values["no-open"] };
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
    process.exit(2);
  }
}
