import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { expect } from "chai";
import { annotater } from "../shipped/annotater.js";
import { flagOwner } from "../shipped/flag-owner.js";
import { qualityOfService } from "../shipped/quality-of-service.js";
import type { ExtensionRequest } from "../extension-request.js";
import { serveExtension, type ServedExtension } from "../serve-extension.js";
import type { ExtensionHooks } from "../hooks.js";
import { checkConformance, type ConformanceOptions } from "./check-conformance.js";

async function results(url: string, options?: ConformanceOptions): Promise<readonly string[]> {
  const lines: string[] = [];
  for await (const { outcome, target = "server", message } of checkConformance(url, options))
    lines.push(`${outcome} ${target} ${message}`);
  return lines;
}

async function problems(url: string, options?: ConformanceOptions): Promise<readonly string[]> {
  return (await results(url, options)).filter((line) => !line.startsWith("passed"));
}

describe("checkConformance", () => {
  let stop: () => Promise<unknown> = () => Promise.resolve();
  afterEach(() => stop());

  async function served(hooks: ExtensionHooks): Promise<string> {
    const ending = new AbortController();
    const extension: ServedExtension = await serveExtension(hooks, {
      port: 0,
      host: "127.0.0.1",
      signal: ending.signal,
      report: () => undefined,
    });
    stop = () => {
      ending.abort();
      return extension.ended;
    };
    return extension.url;
  }

  /** A server of somebody who knows nothing of the kit. */
  async function plain(listener: RequestListener): Promise<string> {
    const server: Server = createServer(listener);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    stop = () =>
      new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  }

  /** One that answers with what `answer` makes of the request. */
  function answering(answer: (request: ExtensionRequest) => unknown): Promise<string> {
    return plain((request, response) => {
      void request.toArray().then((chunks) => {
        try {
          const asked = JSON.parse(Buffer.concat(chunks as Buffer[]).toString()) as ExtensionRequest;
          response.end(JSON.stringify(answer(asked)));
        } catch {
          response.writeHead(400).end();
        }
      });
    });
  }

  it("says of an answer that begins and does not end that it did not come in time", async () => {
    const url = await plain((_request, response) => response.write("{"));
    const [first] = await problems(url, { targets: ["Proxy"], timeoutMs: 100 });
    expect(first).to.equal("failed Proxy it did not answer within 0.1 s");
  });

  it("finds nothing in the hooks of the kit, and says what it looked at", async () => {
    const url = await served({
      preCreate: annotater([{ podAnnotations: { "example.com/a": "1" }, labels: { tier: "flags" } }]),
      lint: flagOwner(),
    });
    expect(await results(url, { targets: ["Proxy", "FeatureFlag"] })).to.deep.equal([
      "passed Proxy answers: a changed object",
      "passed Proxy answers the same to the same question asked again, with another uid",
      "passed Proxy answers the same to a dry run",
      "passed Proxy answers the same to a field that it does not know",
      "passed Proxy changes what it may",
      "passed Proxy leaves its own answer as it is",
      "passed FeatureFlag answers: 1 finding",
      "passed FeatureFlag answers the same to the same question asked again, with another uid",
      "passed FeatureFlag answers the same to a dry run",
      "passed FeatureFlag answers the same to a field that it does not know",
      "passed server answers after a body that is no JSON",
      "passed server answers after a body of 2 MB",
    ]);
    await stop();
    expect(
      await problems(await served({ preCreate: qualityOfService({ "": { limits: { cpu: "1" } } }) })),
    ).to.deep.equal([]);
    await stop();
    expect(await problems(await served({}))).to.deep.equal([]);
  });

  it("finds answers that differ, and those that don't settle", async () => {
    let count = 0;
    const counting = await answering(({ object }) => ({
      ...object,
      metadata: { ...object.metadata, annotations: { count: String(count++) } },
    }));
    expect(await problems(counting, { targets: ["Flagd"] })).to.deep.equal([
      "failed Flagd answers otherwise to the same question asked again, with another uid: a changed object",
      "failed Flagd answers otherwise to a dry run: a changed object",
      "failed Flagd answers otherwise to a field that it does not know: a changed object",
      "failed Flagd does not leave its own answer as it is: a changed object",
    ]);
  });

  it("finds an answer that depends on what it must not", async () => {
    const dependingOn = async (
      isOther: (request: ExtensionRequest) => boolean,
    ): Promise<readonly string[]> => {
      const url = await answering((request) => ({
        ...request.object,
        metadata: { ...request.object.metadata, labels: { other: String(isOther(request)) } },
      }));
      const found = await problems(url, { targets: ["Flagd"] });
      await stop();
      return found;
    };
    const line = (what: string): readonly string[] => [
      `failed Flagd answers otherwise to ${what}: a changed object`,
    ];
    expect(await dependingOn(({ dryRun }) => dryRun)).to.deep.equal(line("a dry run"));
    const uid = "the same question asked again, with another uid";
    expect(await dependingOn(({ uid }) => uid.endsWith("again"))).to.deep.equal(line(uid));
    const later = (request: ExtensionRequest): boolean => "later" in request;
    expect(await dependingOn(later)).to.deep.equal(line("a field that it does not know"));
  });

  it("remarks what must be listed, and finds what is not, or what nobody may change", async () => {
    const url = await answering(({ object }) => ({ ...object, kind: "Other", spec: { rules: [] } }));
    const identity = "failed Flagd changes which object it is, or whose: /kind";
    expect(await problems(url, { targets: ["Flagd"] })).to.deep.equal([
      identity,
      "remark Flagd changes what its Extension must list as mutates: /spec/rules",
    ]);
    expect(await problems(url, { targets: ["Flagd"], mutates: ["/spec/tls"] })).to.deep.equal([
      identity,
      "failed Flagd changes what is not listed: /spec/rules",
    ]);
    expect(await problems(url, { targets: ["Flagd"], mutates: ["/spec/rules"] })).to.deep.equal([identity]);
  });

  it("finds a redirect, a refusal without a reason, and a place where nothing is", async () => {
    const redirecting = await plain((_request, response) => {
      response.writeHead(307, { location: "http://127.0.0.1:1/" }).end();
    });
    expect(await problems(redirecting, { targets: ["Sidecar"] })).to.deep.equal([
      "failed Sidecar it answered 307",
    ]);
    await stop();
    const refusing = await plain((_request, response) => {
      response.writeHead(403).end();
    });
    expect((await problems(refusing, { targets: ["Sidecar"] }))[0]).to.match(/refuses without a reason/);
    await stop();
    const findings = [{ severity: "warning", message: "old", field: "/spec/flags" }];
    const misplaced = await answering(() => ({ findings }));
    expect(await problems(misplaced, { targets: ["FeatureFlag"] })).to.deep.equal([
      'remark FeatureFlag the finding "old" is at /spec/flags, where the object has nothing',
    ]);
  });

  it("finds an extension that does not answer, says too much, or is not there", async () => {
    const silent = await plain(() => undefined);
    expect((await problems(silent, { targets: ["Proxy"], timeoutMs: 20 }))[0]).to.equal(
      "failed Proxy it did not answer within 0.02 s",
    );
    await stop();
    const endless = await plain((_request, response) => {
      const write = (): void => {
        while (!response.destroyed && response.write("x".repeat(65_536)));
      };
      response.on("drain", write);
      write();
    });
    expect((await problems(endless, { targets: ["Proxy"] }))[0]).to.match(
      /its answer has more than 1000000 bytes/,
    );
    await stop();
    const cut = await plain((request) => request.socket.destroy());
    expect((await problems(cut, { targets: ["Proxy"] }))[0]).to.match(
      /closed the connection without an answer/,
    );
    await stop();
    stop = () => Promise.resolve();
    expect(await problems(cut, { targets: ["Proxy"] })).to.have.length(3);
  });

  it("asks with the object, the namespace, the configuration and the token of its caller", async () => {
    const asked: ExtensionRequest[] = [];
    const tokens: unknown[] = [];
    const url = await plain((request, response) => {
      tokens.push(request.headers.authorization);
      void request.toArray().then((chunks) => {
        const text = Buffer.concat(chunks as Buffer[]).toString();
        if (text.includes("uid")) asked.push(JSON.parse(text) as ExtensionRequest);
        response.writeHead(204).end();
      });
    });
    const given = {
      object: { apiVersion: "v1", kind: "Service", metadata: { name: "x" } },
      namespace: { name: "shop", labels: { a: "1" }, annotations: {} },
      configuration: { scrape: true },
    };
    await results(url, { ...given, targets: ["Proxy"], token: "t" });
    for (const request of asked) expect(request).to.deep.include(given);
    expect(new Set(tokens)).to.deep.equal(new Set(["Bearer t"]));
  });
});
