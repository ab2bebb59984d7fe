import { writeFileSync } from "node:fs";
import path from "node:path";
import { Readable } from "node:stream";
import {
  annotater,
  refuse,
  serveExtension,
  type ExtensionObject,
  type ExtensionRequest,
  type ServedExtension,
} from "@bunting/extension";
import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import { Authority } from "@bunting/test/support/certificates.js";
import { codeBlocksOf, repository } from "@bunting/test/support/markdown-pages.js";
import { expect } from "chai";
import { runCli } from "../run-cli.js";
import { coloursFor } from "../terminal/colours.js";

/** With a container more, unless it has it. */
function withShipper(object: ExtensionObject): ExtensionObject {
  const text = JSON.stringify(object);
  const shipper = '{"name":"shipper"}';
  if (text.includes(shipper)) return object;
  return JSON.parse(text.replace(/("containers":\[.*?\})\]/, `$1,${shipper}]`)) as ExtensionObject;
}

describe("bunting extension test", () => {
  const directory = new TempDirectory();
  const ending = new AbortController();
  const asked: ExtensionRequest[] = [];
  const annotate = annotater([{ labels: { tier: "flags" } }]);
  let extension: ServedExtension;

  before(async () => {
    extension = await serveExtension(
      {
        preCreate: (request) => {
          asked.push(request);
          if (request.namespace.name === "closed") refuse("the namespace is closed");
          if (request.namespace.labels["shipper"] === "yes") return withShipper(request.object);
          if (request.namespace.labels["replicas"] === "3")
            return { ...request.object, spec: { replicas: 3 } };
          return annotate(request);
        },
      },
      { port: 0, host: "127.0.0.1", signal: ending.signal },
    );
  });
  after(async () => {
    ending.abort();
    await extension.ended;
    directory.remove();
  });

  async function run(
    ...argv: readonly string[]
  ): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
    asked.length = 0;
    const out: string[] = [];
    const err: string[] = [];
    const code = await runCli(argv[0] === "lint" ? argv : ["extension", ...argv], {
      env: {},
      stdin: Readable.from([]),
      colours: coloursFor(false, {}),
      isTerminal: false,
      columns: 80,
      signal: new AbortController().signal,
      print: (line) => out.push(line),
      note: (line) => err.push(line),
      progress: () => undefined,
      clear: () => undefined,
    });
    return { code, out: out.join("\n"), err: err.join("\n") };
  }

  it("prints each check as it is made, and counts them", async () => {
    const { code, out, err } = await run("test", extension.url, "--target", "Proxy");
    expect([code, err]).to.deep.equal([0, "8 checks: 0 failures"]);
    expect(out.split("\n")[0]).to.equal("passed Proxy: answers: a changed object");
    expect(out).to.contain("passed answers after a body that is no JSON");
  });

  it("prints what docs/cli.md shows, and runs the examples of its help and of docs/extensions/write.md", async () => {
    const blocks = codeBlocksOf("docs/cli.md").map(({ text }) => text);
    const shown =
      blocks.find((text) => text.startsWith("$ bunting extension test")) ?? expect.fail("it shows none");
    const [, ...lines] = shown.trimEnd().split("\n");
    const { out, err } = await run(
      "test",
      extension.url,
      "--target",
      "Proxy",
      "--namespace-labels",
      "shipper=yes",
    );
    expect([...out.split("\n"), err]).to.deep.equal(lines);
    expect((await run("test", extension.url)).code).to.equal(0);
    const example = ["--target", "Sidecar", "-n", "shop-pro", "-c", '{"scrape":true}'];
    expect((await run("test", extension.url, ...example)).code).to.equal(0);
    const flags = path.join(repository, "examples/flags");
    expect((await run("lint", "--extensions", `my-extension=${extension.url}`, flags)).code).to.equal(0);
  });

  it("asks about an object, a namespace and a configuration of files and options", async () => {
    const object = directory.file("service.yaml");
    writeFileSync(object, "apiVersion: v1\nkind: Service\nmetadata: { name: flags, namespace: shop }\n");
    const configuration = directory.file("configuration.json");
    writeFileSync(configuration, '{"scrape":true}');
    const options = [
      "-f",
      object,
      "-n",
      "shop",
      "--namespace-labels",
      "team=shop,tier=1",
      "-c",
      `@${configuration}`,
    ];
    expect((await run("test", extension.url, "--target", "Flagd", ...options)).code).to.equal(0);
    expect(asked[0]).to.deep.include({
      target: "Flagd",
      namespace: { name: "shop", labels: { team: "shop", tier: "1" }, annotations: {} },
      configuration: { scrape: true },
      object: { apiVersion: "v1", kind: "Service", metadata: { name: "flags", namespace: "shop" } },
    });
  });

  it("asks over TLS by the authorities of a file, and presents the token of a file", async () => {
    const authority = await Authority.create();
    const { cert, key } = await authority.issue();
    const file = (name: string, text: string): string => {
      writeFileSync(directory.file(name), text);
      return directory.file(name);
    };
    const tokens = new Set<string>();
    const ended = new AbortController();
    const secured = await serveExtension(
      {},
      {
        port: 0,
        host: "127.0.0.1",
        tls: { certFile: file("tls.crt", cert), keyFile: file("tls.key", key) },
        authenticate: (token) => {
          tokens.add(token);
          return token === "secret";
        },
        signal: ended.signal,
      },
    );
    const url = ["test", secured.url, "--target", "Proxy"];
    const trusted = ["--ca-file", file("ca.crt", authority.cert)];
    const { code, out } = await run(...url, ...trusted, "--token-file", file("token", "secret\n"));
    expect([code, out.split("\n")[0]]).to.deep.equal([0, "passed Proxy: answers: no change"]);
    expect([...tokens]).to.deep.equal(["secret"]);
    expect((await run(...url, ...trusted)).out).to.contain("failed Proxy: it answered 401");
    expect((await run(...url)).out).to.contain("failed Proxy: it can't be reached");
    ended.abort();
    await secured.ended;
  });

  it("exits with 1 if a check failed, and not for a remark", async () => {
    const change = ["test", extension.url, "--target", "Proxy", "--namespace-labels", "replicas=3"];
    const remarked = await run(...change);
    expect(remarked.out).to.contain(
      "remark Proxy: changes what its Extension must list as mutates: /spec/replicas",
    );
    expect([remarked.code, remarked.err]).to.deep.equal([0, "8 checks: 0 failures, 1 remark"]);
    const failed = await run(...change, "--mutates", "/spec/selector", "--json");
    expect(failed.code).to.equal(1);
    expect(JSON.parse(failed.out)).to.include({ conforms: false, url: `${extension.url}/` });
    expect((await run("test", extension.url, "--target", "Proxy", "-n", "closed")).out).to.contain(
      "passed Proxy: answers: refused: the namespace is closed",
    );
  });

  it("says what is wrong with the command line, and asks nobody", async () => {
    const wrong: readonly (readonly [readonly string[], string])[] = [
      [["try", extension.url], 'expected one task: test, got "try"'],
      [["test"], "name one address"],
      [
        ["test", "localhost:8080"],
        '"localhost:8080" is no address of an extension: write http://localhost:8080',
      ],
      [["test", "http://a:b@localhost"], "the address has a name or a password"],
      [
        ["test", "http://example.com", "--token-file", "x"],
        "over TLS or to this machine only: write https://example.com",
      ],
      [["test", extension.url, "-f", "x.yaml"], "--object takes one --target"],
      [["test", extension.url, "-c", "{"], "--configuration is not JSON"],
      [["test", extension.url, "--ca-file", directory.file("none")], "there is no file or directory"],
    ];
    for (const [argv, message] of wrong) {
      const { code, err } = await run(...argv);
      expect([code, err], argv.join(" ")).to.deep.equal([2, err]);
      expect(err).to.contain(message);
    }
    expect(asked).to.have.length(0);
  });

  it("says what is wrong with a file of an object", async () => {
    const files = {
      "no.yaml": ["a: [", "no.yaml:"],
      "none.yaml": ["items: []\nkind: List\n", "holds no object"],
      "two.yaml": ["a: 1\n---\nb: 1\n", "holds several objects"],
      "other.yaml": ["a: 1\n", "it has no apiVersion, kind or metadata.name"],
    };
    for (const [name, [text = "", message = ""]] of Object.entries(files)) {
      writeFileSync(directory.file(name), text);
      const { code, err } = await run("test", extension.url, "--target", "Proxy", "-f", directory.file(name));
      expect(code, err).to.equal(2);
      expect(err).to.contain(message);
    }
  });
});
