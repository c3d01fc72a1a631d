/** Run as a process of its own by tests that kill a caller in the middle: one call through the service door, as the argument says. */
import { z } from "zod";
import { callRpc } from "#lib/db/call-rpc.ts";

const { name, args } = JSON.parse(process.argv[2] ?? "{}");
process.stdout.write(`${JSON.stringify(await callRpc(name, args, z.unknown()))}\n`);
process.exit(0);
