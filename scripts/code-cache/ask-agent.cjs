// @ts-check
/** Asks an agent what applications, browsers and Prometheus ask it first, so that the code for it has run. */
"use strict";

const http2 = require("node:http2");

/**
 * @typedef {{ evaluation: number, management: number, ofrep: number }} Ports
 *
 * @param {Ports} ports
 * @param {string} flagKey of a boolean flag
 */
async function askAgent({ evaluation, management, ofrep }, flagKey) {
  const context = { targetingKey: "warm", email: "warm@example.com" };
  const flags = `http://127.0.0.1:${ofrep}/ofrep/v1/evaluate/flags`;
  await postJson(`${flags}/${flagKey}`, { context });
  await postJson(flags, { context });
  const resolve = "flagd.evaluation.v2.Service/ResolveBoolean";
  await postJson(`http://127.0.0.1:${evaluation}/${resolve}`, { flagKey, context });
  await resolveOverGrpc(evaluation, resolve, flagKey);
  await answered(await ask(`http://127.0.0.1:${management}/metrics`));
}

/**
 * On a machine that is busy with much else, seconds may pass between two requests, and the agent closes an idle connection while the next one is
 * on its way. So a request is made once more.
 *
 * @param {string} url
 * @param {RequestInit} [init]
 */
function ask(url, init) {
  return fetch(url, init).catch(() => fetch(url, init));
}

/**
 * @param {string} url
 * @param {unknown} body
 */
async function postJson(url, body) {
  const headers = { "content-type": "application/json" };
  await answered(await ask(url, { method: "POST", headers, body: JSON.stringify(body) }));
}

/** @param {Response} response */
async function answered(response) {
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.url} was answered with ${response.status}: ${text}`);
}

/**
 * @param {number} port
 * @param {string} method
 * @param {string} flagKey
 */
function resolveOverGrpc(port, method, flagKey) {
  const key = Buffer.from(flagKey);
  // A request's field 1, a string that is shorter than 128 bytes.
  const message = Buffer.concat([Buffer.from([0x0a, key.length]), key]);
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return new Promise((resolve, reject) => {
    const session = http2.connect(`http://127.0.0.1:${port}`);
    session.on("error", reject);
    const call = session.request({
      ":method": "POST",
      ":path": `/${method}`,
      "content-type": "application/grpc",
      te: "trailers",
    });
    let status = "none";
    call.on("response", (headers) => (status = String(headers["grpc-status"] ?? status)));
    call.on("trailers", (headers) => (status = String(headers["grpc-status"] ?? status)));
    call.on("error", reject);
    call.on("close", () => {
      session.close();
      if (status === "0") resolve(undefined);
      else reject(new Error(`${method} was answered with gRPC status ${status}`));
    });
    call.resume();
    call.end(Buffer.concat([prefix, message]));
  });
}

module.exports = { askAgent };
