/**
 * The application in Pods of the tests: it asks the sidecar beside it for a flag, as applications do, and tells on port 8080 what it got.
 *
 *   GET /ofrep?flag=…     one answer over OFREP
 *   GET /grpc?flag=…      one answer through the OpenFeature SDK and its flagd provider, which takes FLAGD_* from the environment
 *   GET /bulk             how many flags OFREP answers all together, after asking so many times: ?times=…
 *   GET /reach?url=…      the status with which this URL answers, or why it does not
 *   POST /follow?flag=…   asks for this flag again and again from now on, both ways
 *   GET /followed         what came of it so far
 *
 * With FOLLOWED_FLAG in the environment it follows that flag by itself, from the first answer on. FOLLOW_PAUSE_MS is the time between its questions.
 */
import { createServer } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { FlagdProvider } from "@openfeature/flagd-provider";
import { OpenFeature, type Client } from "@openfeature/server-sdk";
import type { Answer, Followed } from "./answers.js";

const ofrep = "http://localhost:8016/ofrep/v1/evaluate/flags";
const context = { targetingKey: "application" };
/** Between a question that is asked again and again and the next. */
const pauseMs = Number(process.env["FOLLOW_PAUSE_MS"] ?? 10);
let connecting: Promise<void> | undefined;
let followed: Followed | undefined;

async function askOfrep(flag: string): Promise<Answer> {
  const response = await post(`${ofrep}/${flag}`);
  const { value, errorCode } = (await response.json()) as { value?: unknown; errorCode?: string };
  return errorCode === undefined ? { value } : { errorCode };
}

async function askGrpc(flag: string): Promise<Answer> {
  const client = await connected();
  const { value, errorCode, errorMessage } = await client.getNumberDetails(flag, -1, context);
  return errorCode === undefined ? { value } : { errorCode, errorMessage: errorMessage ?? "" };
}

/** The provider's cache is off: every question is to reach the sidecar. A provider that could not connect is replaced by the next question. */
async function connected(): Promise<Client> {
  connecting ??= OpenFeature.setProviderAndWait(new FlagdProvider({ cache: "disabled", deadlineMs: 10_000 }));
  await connecting.catch((error: unknown) => {
    connecting = undefined;
    throw error;
  });
  return OpenFeature.getClient();
}

async function askForAll(times: number): Promise<Answer> {
  let count = 0;
  for (let asked = 0; asked < times; asked++) {
    const { flags } = (await (await post(ofrep)).json()) as { flags: readonly unknown[] };
    count = flags.length;
  }
  return { value: count };
}

async function reach(url: string): Promise<Answer> {
  try {
    return { value: (await fetch(url, { signal: AbortSignal.timeout(2_000) })).status };
  } catch (error) {
    return { errorCode: String(error) };
  }
}

function post(url: string): Promise<Response> {
  const headers = { "content-type": "application/json" };
  return fetch(url, { method: "POST", headers, body: JSON.stringify({ context }) });
}

async function follow(flag: string): Promise<void> {
  const mine: Followed = { asked: 0, failures: [], values: [] };
  followed = mine;
  while (followed === mine) {
    for (const ask of [askOfrep, askGrpc]) {
      const { value, errorCode, errorMessage } = await ask(flag).catch((error: unknown): Answer => ({
        errorCode: String(error),
      }));
      mine.asked++;
      if (errorCode !== undefined)
        mine.failures.push(`${new Date().toISOString()} ${ask.name}: ${errorCode} ${errorMessage ?? ""}`);
      else if (mine.values.at(-1) !== value) mine.values.push(value);
    }
    await delay(pauseMs);
  }
}

async function followFromStart(flag: string): Promise<void> {
  const isAnswered = (ask: (flag: string) => Promise<Answer>): Promise<boolean> =>
    ask(flag).then(
      ({ errorCode }) => errorCode === undefined,
      () => false,
    );
  for (const ask of [askOfrep, askGrpc]) while (!(await isAnswered(ask))) await delay(50);
  await follow(flag);
}

async function answer(method: string, url: URL): Promise<unknown> {
  const flag = url.searchParams.get("flag") ?? "";
  switch (`${method} ${url.pathname}`) {
    case "GET /ofrep":
      return askOfrep(flag);
    case "GET /grpc":
      return askGrpc(flag);
    case "GET /bulk":
      return askForAll(Number(url.searchParams.get("times")));
    case "GET /reach":
      return reach(url.searchParams.get("url") ?? "");
    case "POST /follow":
      void follow(flag);
      return {};
    case "GET /followed":
      return followed;
    default:
      throw new Error(`there is no ${method} ${url.pathname}`);
  }
}

createServer((request, response) => {
  const url = new URL(request.url ?? "/", "http://localhost");
  answer(request.method ?? "", url).then(
    (body) => response.end(JSON.stringify(body ?? null)),
    (error: unknown) => response.writeHead(500).end(JSON.stringify(String(error))),
  );
}).listen(8080);
if (process.env["FOLLOWED_FLAG"] !== undefined) void followFromStart(process.env["FOLLOWED_FLAG"]);
process.on("SIGTERM", () => process.exit(0));
