import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import { parse } from "yaml";
import { blockWith } from "../test/support/markdown-pages.js";
import { publishedPackages } from "./release/published-packages.js";
import { writeChecksums } from "./release/checksums.js";

const file = path.resolve(import.meta.dirname, "../.github/workflows/release.yaml");

interface Step {
  readonly id?: string;
  readonly run?: string;
  readonly "working-directory"?: string;
  readonly env?: Readonly<Record<string, string>>;
}

interface Job {
  readonly needs?: string | readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly strategy?: { readonly matrix: Readonly<Record<string, readonly string[]>> };
  readonly steps: readonly Step[];
}

const { jobs } = parse(readFileSync(file, "utf8")) as { readonly jobs: Readonly<Record<string, Job>> };
const services = ["agent", "proxy", "operator"];
const archives = publishedPackages.map(({ name }) => `${name.replace("@", "").replace("/", "-")}-1.2.3.tgz`);

/** What a rehearsal leaves, as far as the jobs that publish name it. */
const rehearsed = [
  "notes.md",
  ...archives.map((name) => `packages/${name}`),
  "charts/bunting-1.2.3.tgz",
  "charts/bunting-operator-1.2.3.tgz",
  "docs/bunting-docs-1.2.3.tgz",
  "examples/bunting-examples-1.2.3.tgz",
  ...services.map((name) => `images/bunting-${name}.cdx.json`),
];

/** Programs of a runner: each writes down how it was called, and says no more than the scripts read. */
const programs: Readonly<Record<string, string>> = {
  npm: "",
  helm: "",
  cosign: "",
  gh: "",
  docker: "cat > /dev/null",
  skopeo: `case "$1" in
    copy) for word; do [ "$last" = --digestfile ] && printf sha256:abc > "$word"; last=$word; done ;;
    inspect) printf manifest ;;
  esac`,
};

/** Runs the scripts of the jobs that publish on a rehearsal, in bash as the forge does, with stand-ins for what reaches out. */
describe("the workflow of a release", () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(path.join(tmpdir(), "bunting-workflow-"));
    for (const name of rehearsed) write(`release/${name}`, name);
    writeChecksums(path.join(directory, "release"));
    for (const [name, script] of Object.entries(programs)) {
      const call = `#!/bin/bash\necho ${name} "$@" >> "$CALLS"\n${script}\n`;
      write(`programs/${name}`, call);
      execFileSync("chmod", ["+x", path.join(directory, "programs", name)]);
    }
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  function write(name: string, text: string): void {
    const target = path.join(directory, name);
    mkdirSync(path.dirname(target), { recursive: true });
    writeFileSync(target, text);
  }

  /** The calls that a job makes; `service` is that of its matrix. */
  function callsOf(name: string, service = ""): readonly string[] {
    write("calls", "");
    write("output", "");
    const job = jobs[name] ?? expect.fail(`there is no job ${name}`);
    for (const step of job.steps.filter(({ run }) => run !== undefined)) {
      const valueOf = (text: string): string => {
        const [, digest = ""] =
          /^digest=(.*)$/m.exec(readFileSync(path.join(directory, "output"), "utf8")) ?? [];
        const values: Readonly<Record<string, string>> = {
          "github.repository_owner": "owner",
          "github.repository": "owner/bunting",
          "matrix.service": service,
          "secrets.GITHUB_TOKEN": "secret",
          "steps.push.outputs.digest": digest,
        };
        return text.replaceAll(
          /\$\{\{ (\S+) \}\}/g,
          (_, key: string) => values[key] ?? expect.fail(`the value of ${key}`),
        );
      };
      const given = Object.entries({ ...job.env, ...step.env }).map(([key, text]) => [key, valueOf(text)]);
      const env = {
        PATH: `${path.join(directory, "programs")}:${process.env["PATH"] ?? ""}`,
        HOME: directory,
        CALLS: path.join(directory, "calls"),
        GITHUB_REF_NAME: "v1.2.3",
        GITHUB_ACTOR: "somebody",
        GITHUB_OUTPUT: path.join(directory, "output"),
        GITHUB_STEP_SUMMARY: path.join(directory, "summary"),
        ...(Object.fromEntries(given) as Record<string, string>),
      };
      const cwd = path.join(directory, step["working-directory"] ?? ".");
      const { status, stderr } = spawnSync("bash", ["-eo", "pipefail", "-c", step.run ?? ""], { cwd, env });
      if (status !== 0) throw new Error(`${step.run ?? ""}\n${stderr.toString()}`);
    }
    const text = readFileSync(path.join(directory, "calls"), "utf8");
    expect(text).to.not.contain("secret");
    return text.trimEnd().split("\n");
  }

  it("publishes every package, with provenance, in the order in which they depend on each other", () => {
    expect(callsOf("packages")).to.deep.equal(
      archives.map((name) => `npm publish ./release/packages/${name} --provenance --access public`),
    );
  });

  for (const service of services)
    it(`copies the layout of the ${service}'s image with both architectures, signs it, and attests its bill of materials`, () => {
      const image = `ghcr.io/owner/bunting-${service}`;
      expect(callsOf("images", service)).to.deep.equal([
        "docker login ghcr.io --username somebody --password-stdin",
        `skopeo copy --all --digestfile digest oci:release/images/${service}:1.2.3 docker://${image}:1.2.3`,
        `cosign sign --yes --recursive ${image}@sha256:abc`,
        `cosign attest --yes --type cyclonedx --predicate release/images/bunting-${service}.cdx.json ${image}@sha256:abc`,
      ]);
      expect(readFileSync(path.join(directory, "summary"), "utf8")).to.equal(`${image}@sha256:abc\n`);
    });

  it("pushes both charts to the registry, and signs what is there", () => {
    // Of what the stand-in says is the manifest.
    const digest = execFileSync("sha256sum", { input: "manifest", encoding: "utf8" }).split(" ")[0];
    const charts = "ghcr.io/owner/charts";
    expect(callsOf("charts")).to.deep.equal([
      "docker login ghcr.io --username somebody --password-stdin",
      ...["bunting", "bunting-operator"].flatMap((name) => [
        `helm push release/charts/${name}-1.2.3.tgz oci://${charts} --registry-config ${directory}/.docker/config.json`,
        `skopeo inspect --raw docker://${charts}/${name}:1.2.3`,
        `cosign sign --yes ${charts}/${name}@sha256:${digest}`,
      ]),
    ]);
  });

  it("verifies all that is published as docs/releases.md does, before it is announced", () => {
    const [verify = "", audit = ""] = blockWith("docs/releases.md", "cosign verify")
      .replaceAll(/ \\\n */g, " ")
      .replaceAll("'", "")
      .trim()
      .split("\n");
    expect(verify).to.contain("ghcr.io/bunting/bunting-proxy:1.0.0");
    const published = ["agent", "proxy", "operator"].map((service) => `bunting-${service}`);
    const calls = callsOf("verify");
    expect(calls.slice(1)).to.deep.equal([
      ...[...published, "charts/bunting", "charts/bunting-operator"].map((name) =>
        verify
          .replaceAll("/bunting/bunting", "/owner/bunting")
          .replace("bunting-proxy:1.0.0", `${name}:1.2.3`),
      ),
      "npm init --yes",
      "npm install bunting@1.2.3 bunting-agent@1.2.3",
      audit,
    ]);
    expect(jobs["verify"]?.needs).to.have.members(["packages", "charts"]);
  });

  it("makes a release of the notes and of all files but the layouts, after all else is published", () => {
    const [call = "", ...more] = callsOf("notes");
    expect(more).to.deep.equal([]);
    const head = "gh release create v1.2.3 --verify-tag --title v1.2.3 --notes-file release/notes.md ";
    expect(call.startsWith(head), call).to.equal(true);
    const expected = rehearsed
      .filter((name) => name !== "notes.md")
      .map((name) => path.basename(name.replace("packages/", "packages/npm-")));
    // The forge knows files by their names without folders, and takes none twice.
    expect(new Set(expected).size).to.equal(expected.length);
    const files = call.slice(head.length).split(" ");
    expect(files.sort()).to.deep.equal([...expected, "SHA256SUMS"].map((name) => `files/${name}`).sort());
    for (const name of rehearsed.filter((each) => each !== "notes.md")) {
      const given = path.basename(name.replace("packages/", "packages/npm-"));
      expect(readFileSync(path.join(directory, "files", given), "utf8")).to.equal(name);
    }
    expect(jobs["notes"]?.needs).to.equal("verify");
    expect(jobs["charts"]?.needs).to.equal("images");
  });

  it("gives whoever has downloaded the files of a release the checksums of them", () => {
    callsOf("notes");
    const check = ["--check", "--quiet", "--strict", "SHA256SUMS"];
    const options = { cwd: path.join(directory, "files"), encoding: "utf8" } as const;
    expect(execFileSync("sha256sum", check, options)).to.equal("");
    for (const name of ["npm-bunting-1.2.3.tgz", "bunting-1.2.3.tgz"]) write(`files/${name}`, "another");
    const { stdout } = spawnSync("sha256sum", check, options);
    expect(stdout).to.equal("bunting-1.2.3.tgz: FAILED\nnpm-bunting-1.2.3.tgz: FAILED\n");
  });

  it("publishes nothing of a rehearsal whose files are not those that were made", () => {
    write("release/packages/bunting-1.2.3.tgz", "another");
    write("release/charts/bunting-1.2.3.tgz", "another");
    for (const job of ["packages", "images", "charts", "notes"])
      expect(() => callsOf(job, "proxy"), job).to.throw(/WARNING|FAILED|did NOT match/);
  });

  it("has its images named by its matrix, as many as there are", () => {
    expect(jobs["images"]?.strategy?.matrix).to.deep.equal({ service: services });
  });
});
