import { createServer } from "node:net";
import { flagName } from "@bunting/runtime";
import { demoOptionTable, type DemoOptions } from "./demo-options.js";

/** One sentence for each port of the demonstration that is already in use. */
export async function takenPorts(options: DemoOptions): Promise<string[]> {
  const sentences: string[] = [];
  for (const [key, value] of Object.entries(options)) {
    if (typeof value === "number" && !(await isFree(value))) {
      const flag = flagName(key, demoOptionTable[key as keyof DemoOptions]);
      sentences.push(`Port ${value} is taken. Choose another: npm start -- --${flag} ${value + 10_000}`);
    }
  }
  return sentences;
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
