import { createServer } from "node:net";
import { flagName } from "@bunting/runtime";
import { demoOptionTable, type DemoOptions } from "./demo-options.js";

const highestPort = 65_535;

/** Which ports of the demonstration are already in use, with the command that avoids all of them; undefined if none is. */
export async function takenPorts(options: DemoOptions): Promise<string | undefined> {
  const taken: number[] = [];
  const flags: string[] = [];
  for (const [key, value] of Object.entries(options)) {
    if (typeof value === "number" && !(await isFree(value))) {
      taken.push(value);
      const other = value + 10_000 > highestPort ? value - 10_000 : value + 10_000;
      flags.push(`--${flagName(key, demoOptionTable[key as keyof DemoOptions])} ${other}`);
    }
  }
  const command = `npm start -- ${flags.join(" ")}`;
  if (taken.length === 0) return undefined;
  if (taken.length === 1) return `Port ${taken.join("")} is taken. Choose another: ${command}`;
  return `Ports ${taken.join(", ")} are taken. Choose others: ${command}`;
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
