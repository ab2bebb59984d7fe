/** Not a test: a process for last-known-good.test.ts that writes one document after the other until it is killed. */
import { lastKnownGoodFile } from "./last-known-good-file.js";

const [directory] = process.argv.slice(2);
if (process.argv[1]?.endsWith("last-known-good-writer.child.ts") && directory !== undefined) {
  const file = lastKnownGoodFile(directory, { provider: "file", uri: "written", selector: "" }, 1_000_000);
  for (let i = 0; ; i++) {
    await file.write({ bytes: Buffer.from(`${"x".repeat(200_000)} ${i}`), version: undefined });
    if (i === 0) process.stdout.write("writing\n");
  }
}
