import { execFileSync } from "node:child_process";
import { expect } from "chai";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { RuntimeError } from "../runtime-error.js";
import { option } from "./option.js";
import { readOptions } from "./read-options.js";
import { renderHelp } from "./render-help.js";
import {
  byteSizeOrAuto,
  choice,
  duration,
  jsonText,
  list,
  mapping,
  port,
  text,
  toggle,
} from "./value-types.js";

const group = "Ports";
const table = {
  port: option(port, 8015, "Port.", { short: "p", group, env: ["X_PORT", "Y_PORT"] }),
  managementPort: option(port, 8016, "M.", { aliases: ["metrics-port"], group, env: ["X_M"] }),
  debug: option(toggle, false, "D.", { short: "x", group: "Logs", env: ["X_DEBUG"] }),
  logFormat: option(choice("console", "json"), "console", "F.", { group: "Logs", env: [] }),
  uri: option(list, [], "U.", { short: "f", group, env: ["X_URI"] }),
  contextValue: option(mapping, {}, "C.", { short: "X", group, env: ["X_CONTEXT"] }),
  streamDeadline: option(duration({ minMs: 0, maxMs: 3_600_000, zero: "off" }), 0, "S.", { group, env: [] }),
  sources: option(jsonText, "", "Sources.", { group, env: [] }),
  args: option(list, [], "A.", { group, env: [], ignoredBecause: "the server has dropped it" }),
  config: option(text, "", "File.", { group, env: [] }),
};

async function read(argv: readonly string[], env: Record<string, string> = {}) {
  return readOptions(table, { argv, env });
}

async function refusal(argv: readonly string[], env: Record<string, string> = {}): Promise<RuntimeError> {
  return read(argv, env).then(
    () => expect.fail("the options were accepted"),
    (error: unknown) => {
      expect(error).to.be.instanceOf(RuntimeError);
      return error as RuntimeError;
    },
  );
}

describe("readOptions", () => {
  let directory: string;
  beforeEach(() => (directory = mkdtempSync(path.join(tmpdir(), "bunting-options-"))));
  afterEach(() => rmSync(directory, { recursive: true }));

  const config = (name: string, content: string): string => {
    const file = path.join(directory, name);
    writeFileSync(file, content);
    return file;
  };

  it("gives the defaults, frozen, where nothing is set", async () => {
    const { options, warnings } = await read([]);
    expect(options.port).to.equal(8015);
    expect(options.uri).to.deep.equal([]);
    expect(warnings).to.deep.equal([]);
    expect(options).to.be.frozen;
  });

  it("prefers the command line to the environment, that to the config file, and that to the default", async () => {
    const file = config("c.yaml", "port: 1\nmanagement-port: 2\nlog-format: json\n");
    const { options } = await read(["--port", "10", "--config", file], { X_PORT: "20", X_M: "30" });
    expect(options).to.include({ port: 10, managementPort: 30, logFormat: "json", streamDeadline: 0 });
  });

  it("reads flags in every form that Go's pflag takes", async () => {
    for (const argv of [["--port", "1"], ["--port=1"], ["-p", "1"], ["-p1"], ["-p=1"]]) {
      expect((await read(argv)).options.port, argv.join(" ")).to.equal(1);
    }
    expect((await read(["--debug"])).options.debug).to.equal(true);
    expect((await read(["-x"])).options.debug).to.equal(true);
    for (const word of ["--debug=false", "-x=false"])
      expect((await read([word], { X_DEBUG: "true" })).options.debug, word).to.equal(false);
    expect((await read(["--metrics-port", "7"])).options.managementPort).to.equal(7);
    expect((await read(["--port", "1", "--port", "2"])).options.port).to.equal(2);
  });

  it("reads lists and maps repeated, with commas, and from the environment", async () => {
    expect((await read(["--uri", "a,b", "-f", "c"])).options.uri).to.deep.equal(["a", "b", "c"]);
    expect((await read([], { X_URI: "a b,c" })).options.uri).to.deep.equal(["a", "b", "c"]);
    expect((await read(["-X", "a=1,b=x=y", "--context-value", "c=p,q"])).options.contextValue).to.deep.equal({
      a: "1",
      b: "x=y",
      c: "p,q",
    });
    expect((await read([], { X_CONTEXT: '{"a":"1","b":2}' })).options.contextValue).to.deep.equal({
      a: "1",
      b: "2",
    });
  });

  it("reads durations as Go writes them", async () => {
    for (const [given, expected] of [
      ["300ms", 300],
      ["5s", 5_000],
      ["1m30s", 90_000],
      ["0", 0],
      ["1.5s", 1_500],
      ["500us", 0.5],
      ["500\u00b5s", 0.5],
      ["500\u03bcs", 0.5],
      ["1000ns", 0.001],
      [".5s", 500],
      ["1.s", 1_000],
      ["+2s", 2_000],
      ["-0", 0],
      ["0s", 0],
      ["1s1m", 61_000],
      ["1h", 3_600_000],
    ] as const) {
      expect((await read(["--stream-deadline", given])).options.streamDeadline).to.equal(expected);
    }
    expect((await refusal(["--stream-deadline", "5"])).message).to.contain("such as 300ms, 5s or 1m30s");
    for (const given of ["", "s", ".s", "1d", "1s ", "1 s", "--1s", "1e3s", "1,5s"]) {
      expect((await refusal([`--stream-deadline=${given}`])).message, given).to.contain("such as 300ms");
    }
  });

  it("refuses a duration out of bounds, with the bounds, and says what to use instead of 0", async () => {
    expect((await refusal(["--stream-deadline", "61m"])).message).to.equal(
      '--stream-deadline: expected a duration from 0 to 1h, got "61m"',
    );
    expect((await refusal(["--stream-deadline=-1s"])).message).to.contain("from 0 to 1h");
    const type = duration({ minMs: 100, maxMs: 90_000, zero: "use --off instead" });
    const strict = { wait: option(type, 100, "W.", { group, env: [] }) };
    const waiting = (given: string) => readOptions(strict, { argv: [`--wait=${given}`], env: {} });
    expect((await waiting("100ms")).options.wait).to.equal(100);
    expect((await waiting("1m30s")).options.wait).to.equal(90_000);
    for (const [given, sentence] of [
      ["0", 'expected a duration from 100ms to 90s, got "0"; use --off instead'],
      ["99ms", 'expected a duration from 100ms to 90s, got "99ms"'],
      ["91s", 'expected a duration from 100ms to 90s, got "91s"'],
    ] as const) {
      const error: unknown = await waiting(given).catch((thrown: unknown) => thrown);
      expect((error as Error).message).to.equal(`--wait: ${sentence}`);
    }
  });

  it("reads bytes as Kubernetes writes them, and auto", async () => {
    const type = byteSizeOrAuto({ min: 1_000, max: 2 ** 40 });
    const sized = { memory: option(type, "auto", "M.", { group, env: [] }) };
    const reading = (given: string) => readOptions(sized, { argv: [`--memory=${given}`], env: {} });
    for (const [given, expected] of [
      ["64Mi", 64 * 1024 * 1024],
      ["1.5Gi", 1.5 * 1024 ** 3],
      ["500M", 500_000_000],
      ["2Ki", 2_048],
      ["1048576", 1_048_576],
      ["auto", "auto"],
    ] as const) {
      expect((await reading(given)).options.memory).to.equal(expected);
    }
    for (const given of ["", "-1", "0", "64mi", "64 Mi", "1Ti", "Mi", "999", "1e6"]) {
      const error: unknown = await reading(given).catch((thrown: unknown) => thrown);
      expect((error as Error).message, given).to.contain(
        "expected bytes such as 64Mi, from 1000 to 1024Gi, or auto",
      );
    }
    expect(type.show(64 * 1024 * 1024)).to.equal("64Mi");
  });

  it("takes a space or a quoted comma as part of a value on the command line", async () => {
    expect((await read(["--uri", "file:a b.json"])).options.uri).to.deep.equal(["file:a b.json"]);
    const quotedComma = ["--uri", '"a, b",c , "say ""d""" ,,e"f'];
    expect((await read(quotedComma)).options.uri).to.deep.equal(["a, b", "c", 'say "d"', 'e"f']);
    expect((await read(["--uri", ""])).options.uri).to.deep.equal([]);
    const file = config("u.yaml", "uri: ['file:a b.json']\n");
    expect((await read(["--config", file])).options.uri).to.deep.equal(["file:a b.json"]);
  });

  it("treats a Kubernetes service link and an empty variable as unset", async () => {
    const { options, warnings } = await read([], { X_PORT: "tcp://10.0.0.1:80", Y_PORT: "9", X_M: "" });
    expect(options).to.include({ port: 9, managementPort: 8016 });
    expect(warnings).to.deep.equal([]);
  });

  it("refuses unknown flags, all at once, and suggests similar ones", async () => {
    expect((await refusal(["--debug", "--prot", "1"])).message).to.equal(
      "unknown flag: --prot (did you mean --port?); --help lists all flags",
    );
    expect((await refusal(["--prot", "1", "--flux=2", "--port", "3"])).message).to.equal(
      "unknown flags: --prot (did you mean --port?), --flux; --help lists all flags",
    );
  });

  describe("with variables that none of our programs reads", () => {
    const withVariables = (env: Readonly<Record<string, string>>) =>
      readOptions(ours, { argv: [], env, refusesUnknownVariables: true });
    const ours = {
      auth: option(text, "", "A.", { group, env: ["BUNTING_AUTH"] }),
      port: option(port, 1, "P.", { group, env: ["FLAGD_PORT", "BUNTING_PORT"] }),
    };

    it("refuses them, and suggests a similar one", async () => {
      for (const [name, suggestion] of [
        ["BUNTING_AUHT", " (did you mean BUNTING_AUTH?)"],
        ["BUNTING_AUTHENTICATION", " (did you mean BUNTING_AUTH?)"],
        ["FLAGD_BUNTING_AUHT", " (did you mean BUNTING_AUTH?)"],
        ["BUNTING_COLOUR", ""],
      ] as const) {
        const error: unknown = await withVariables({ [name]: "token" }).catch((thrown: unknown) => thrown);
        expect(error).to.have.property("code", "OPTION_INVALID");
        expect(error).to.have.property(
          "message",
          `unknown environment variable: ${name}${suggestion}; --help lists all that are read`,
        );
      }
    });

    it("leaves alone what Kubernetes sets for Services, what others of our programs read, and what is empty or not ours", async () => {
      const { options } = await withVariables({
        BUNTING_SERVICE_HOST: "10.0.0.1",
        BUNTING_SERVICE_PORT: "8015",
        BUNTING_PORT: "tcp://10.0.0.1:8015",
        BUNTING_PORT_8015_TCP: "tcp://10.0.0.1:8015",
        BUNTING_PROXY_SERVICE_HOST: "10.0.0.1",
        BUNTING_PROXY_SERVICE_PORT: "8015",
        BUNTING_PROXY_SERVICE_PORT_SYNC: "8015",
        BUNTING_PROXY_PORT: "tcp://10.0.0.1:8015",
        BUNTING_PROXY_PORT_8015_TCP: "tcp://10.0.0.1:8015",
        BUNTING_PROXY_PORT_8015_TCP_PROTO: "tcp",
        BUNTING_PROXY_PORT_8015_TCP_PORT: "8015",
        BUNTING_PROXY_PORT_8015_TCP_ADDR: "10.0.0.1",
        BUNTING_DNS_PORT_53_UDP_ADDR: "10.0.0.1",
        BUNTING_TOKEN_FILE: "/token",
        FLAGD_BUNTING_TOKEN_FILE: "/token",
        BUNTING_LINT_FAIL_ON: "warning",
        BUNTING_TEST_SEED: "1",
        BUNTING_AUHT: "",
        FLAGD_COLOUR: "red",
        HOME: directory,
      });
      expect(options).to.deep.equal({ auth: "", port: 1 });
    });

    it("takes an unknown number for a port of a Service for a mistake", async () => {
      const error: unknown = await withVariables({ BUNTING_SYNC_PORT: "8015" }).catch(
        (thrown: unknown) => thrown,
      );
      expect(error).to.have.property("message").that.contains("BUNTING_SYNC_PORT");
    });
  });

  it("suggests the flag that is most like an unknown one, and none for a single letter", async () => {
    const many = Object.fromEntries(
      ["maxConnectionAge", "maxTopicsPerAddress", "backplane", "backplanePasswordFile", "source"].map(
        (key) => [key, option(text, "", "O.", { group, env: [] })],
      ),
    );
    const argv = ["--max-topics-per-adress=1", "--backplane-pasword-file=f", "--sorce=dir:x", "-s"];
    const error: unknown = await readOptions(many, { argv, env: {} }).catch((thrown: unknown) => thrown);
    expect((error as Error).message.split(", ")).to.deep.equal([
      "unknown flags: --max-topics-per-adress (did you mean --max-topics-per-address?)",
      "--backplane-pasword-file (did you mean --backplane-password-file?)",
      "--sorce (did you mean --source?)",
      "-s; --help lists all flags",
    ]);
  });

  it("names the option that has taken the place of a flag, however unlike it is", async () => {
    const successors = {
      target: option(text, "", "T.", { formerNames: ["sauce"], group, env: [] }),
      source: option(text, "", "S.", { group, env: [] }),
    };
    const error: unknown = await readOptions(successors, { argv: ["--sauce", "x"], env: {} }).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).to.have.property("message", "unknown flag: --sauce (use --target); --help lists all flags");
  });

  it("says why an option is accepted but ignored, in a warning, in the help and in the reference", async () => {
    expect((await read(["--args", "a"])).warnings).to.deep.equal([
      "--args is accepted and ignored: the server has dropped it",
    ]);
    const help = renderHelp({ usage: "u", describe: "d", table, epilogue: "e" });
    expect(help.replaceAll(/\s+/g, " ")).to.contain("Accepted and ignored: the server has dropped it.");
  });

  it("says that a value is missing after the last flag, unless that is ignored", async () => {
    for (const argv of [["--uri"], ["--debug", "--port"], ["--port", "1", "--uri"]]) {
      expect((await refusal(argv)).message).to.equal(`${argv.at(-1) ?? ""} needs a value; --help says which`);
    }
    expect((await refusal(["-f"])).message).to.equal("--uri needs a value; --help says which");
    expect((await read(["--args"])).warnings).to.have.length(1);
  });

  it("says where an invalid value came from and what was expected", async () => {
    expect((await refusal(["--port", "http"])).message).to.equal(
      '--port: expected a whole number from 0 to 65535, got "http"',
    );
    expect((await refusal([], { Y_PORT: "70000" })).message).to.contain(
      "the environment variable Y_PORT: expected",
    );
    expect((await refusal(["--log-format", "xml"])).message).to.contain("expected console or json");
    expect((await refusal(["-X", "{a}"])).message).to.equal(
      '--context-value: expected key=value, or a JSON object, got "{a}"',
    );
    const file = config("bad.json", '{"port": {}}');
    expect((await refusal(["--config", file])).message).to.contain(`"port" in the config file ${file}: `);
  });

  it("refuses an unknown key of a config file, also of one that nobody named, and suggests a similar one", async () => {
    const file = config(".agent.yaml", "prot: 1\n");
    const message = `unknown key "prot" in the config file ${file} (did you mean --port?); --help lists all flags`;
    expect((await refusal([], { HOME: directory })).message).to.equal(message);
    expect((await refusal(["--config", file])).message).to.equal(message);
  });

  it("reads JSON, YAML and TOML config files, structures included and keys in any case", async () => {
    const json = config("c.json", '{"sources":[{"uri":"a","provider":"file"}],"context-value":{"k":"v"}}');
    const reading = await read(["--config", json]);
    expect(reading.options.sources).to.equal('[{"uri":"a","provider":"file"}]');
    expect(reading.options.contextValue).to.deep.equal({ k: "v" });
    const toml = config("c.toml", 'Port = 5\nuri = ["a", "b"]\n');
    expect((await read(["--config", toml])).options).to.deep.include({ port: 5, uri: ["a", "b"] });
  });

  it("names the config file that can't be read", async () => {
    const missing = path.join(directory, "none.yaml");
    expect(await refusal(["--config", missing])).to.have.property("code", "CONFIG_UNREADABLE");
    expect((await refusal(["--config", config("b.json", "{")])).message).to.contain("b.json");
    expect((await refusal(["--config", config("l.yaml", "- a")])).message).to.contain("must hold a map");
  });

  it("waits for no named pipe, reads no device without an end, and takes /dev/null for a file of no options", async () => {
    const pipe = path.join(directory, "pipe.yaml");
    execFileSync("mkfifo", [pipe]);
    expect((await refusal(["--config", pipe])).message).to.contain("it is a named pipe, not a file");
    expect((await refusal(["--config", "/dev/zero"])).message).to.contain("it has more than 1048576 bytes");
    expect((await read(["--config", "/dev/null"])).options.port).to.equal(8015);
  });

  it("reads $HOME/.agent.yaml by default, as flagd does", async () => {
    config(".agent.yaml", "port: 4\n");
    expect((await read([], { HOME: directory })).options.port).to.equal(4);
  });
});

describe("the documentation of options", () => {
  it("has every flag, group, default and variable in --help", () => {
    const help = renderHelp({ usage: "x start", describe: "An x.", table, epilogue: "End." });
    for (const part of [
      "Ports:",
      "Logs:",
      "--management-port, --metrics-port",
      "-p, --port",
      "default 8015",
      "X_PORT, Y_PORT",
    ]) {
      expect(help.replaceAll(/\s+/g, " ")).to.contain(part);
    }
  });

  it("aligns descriptions in --help, and breaks them between words", () => {
    const describe = `${"word ".repeat(20)}end.`;
    const long = { port: { ...table.port, describe }, debug: { ...table.debug, group } };
    expect(renderHelp({ usage: "x start", describe: "An x.", table: long, epilogue: "End." })).to.equal(
      [
        "Usage: x start",
        "",
        "An x.",
        "",
        "Ports:",
        `  -p, --port   <port> ${"word ".repeat(17).trimEnd()}`,
        "               word word word end. [default 8015; env X_PORT, Y_PORT]",
        "  -x, --debug  D. [default false; env X_DEBUG]",
        "",
        "End.",
      ].join("\n"),
    );
  });

  it("says in the help what is allowed", () => {
    expect(renderHelp({ usage: "", describe: "", table, epilogue: "" })).to.contain(
      "[default 0; allowed 0 to 1h]",
    );
  });

  it("leaves out what only our own tests set, which is read and checked all the same, and suggested to nobody", async () => {
    const internal = { port: table.port, settleTime: { ...table.streamDeadline, isInternal: true } };
    expect(
      (await readOptions(internal, { argv: ["--settle-time=3s"], env: {} })).options.settleTime,
    ).to.equal(3_000);
    const misspelt: unknown = await readOptions(internal, { argv: ["--setle-time=3s"], env: {} }).catch(
      (thrown: unknown) => thrown,
    );
    expect(misspelt).to.have.property("message", "unknown flag: --setle-time; --help lists all flags");
    expect(renderHelp({ usage: "", describe: "", table: internal, epilogue: "" })).not.to.contain("settle");
  });
});
