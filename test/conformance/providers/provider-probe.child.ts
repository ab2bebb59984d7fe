/**
 * Evaluates the string flag that each line of its input names, with the rpc provider from npm and its cache. Prints value, reason and error
 * code. A process of its own, because the provider leaves timers of minutes behind, which would keep mocha from ending.
 */
import process from "node:process";
import { createInterface } from "node:readline";
import { FlagdProvider } from "@openfeature/flagd-provider";
import { OpenFeature } from "@openfeature/server-sdk";

const [, , port, streamDeadlineMs] = process.argv;
await OpenFeature.setProviderAndWait(
  new FlagdProvider({
    resolverType: "rpc",
    host: "127.0.0.1",
    port: Number(port),
    streamDeadlineMs: Number(streamDeadlineMs),
    deadlineMs: 5_000,
    cache: "lru",
  }),
);
const client = OpenFeature.getClient();
console.log("ready");
for await (const line of createInterface(process.stdin)) {
  const { value, reason, errorCode } = await client.getStringDetails(line.trim(), "none");
  console.log(value, reason, errorCode);
}
