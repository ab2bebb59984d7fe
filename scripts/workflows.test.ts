import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { parse } from "yaml";

const root = path.dirname(import.meta.dirname);
const folder = path.join(root, ".github/workflows");

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}

interface Job {
  readonly permissions?: Readonly<Record<string, string>>;
  readonly "timeout-minutes"?: number;
  readonly container?: { readonly image: string };
  readonly steps: readonly Step[];
}

interface Workflow {
  readonly on: Readonly<Record<string, unknown>>;
  readonly permissions?: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, Job>>;
}

/** What each job may write, beside reading what it checks out. */
const mayWrite: Readonly<Record<string, readonly string[]>> = {
  "release.yaml packages": ["id-token"],
  "release.yaml images": ["attestations", "id-token", "packages"],
  "release.yaml charts": ["id-token", "packages"],
  "release.yaml notes": ["attestations", "contents", "id-token"],
};

const workflows = readdirSync(folder).map((file) => {
  const text = readFileSync(path.join(folder, file), "utf8");
  return { file, text, workflow: parse(text) as Workflow };
});
const jobs = workflows.flatMap(({ file, workflow }) =>
  Object.entries(workflow.jobs).map(([name, job]) => ({ name: `${file} ${name}`, workflow, job })),
);
const steps = jobs.flatMap(({ name, job }) => job.steps.map((step) => ({ name, step })));

describe("the workflows", () => {
  it("are those of the gate, of the night and of releases, each started by what it is for", () => {
    expect(Object.fromEntries(workflows.map(({ file, workflow }) => [file, workflow.on]))).to.deep.equal({
      "gate.yaml": { pull_request: null, push: { branches: ["main"] } },
      "nightly.yaml": { schedule: [{ cron: "17 1 * * *" }], workflow_dispatch: null },
      "release.yaml": { push: { tags: ["v*"] } },
    });
  });

  it("may read, and write only what a job publishes", () => {
    for (const { file, workflow } of workflows)
      expect(workflow.permissions, file).to.deep.equal(file === "release.yaml" ? {} : { contents: "read" });
    for (const { name, job } of jobs) {
      const entries = Object.entries(job.permissions ?? {});
      const written = entries.filter(([, access]) => access !== "read").map(([scope]) => scope);
      expect(written.sort(), name).to.deep.equal(mayWrite[name] ?? []);
    }
  });

  it("take actions by commits, with their versions beside them, and each action by one", () => {
    const commits = new Map<string, string>();
    for (const { name, step } of steps) {
      if (step.uses === undefined) continue;
      expect(step.uses, name).to.match(/^[\w-]+\/[\w-]+@[0-9a-f]{40}$/);
      const [action = "", commit = ""] = step.uses.split("@");
      expect(commits.get(action) ?? commit, action).to.equal(commit);
      commits.set(action, commit);
    }
    expect(commits.size).to.be.greaterThan(4);
    for (const { file, text } of workflows) {
      for (const [line] of text.matchAll(/^.*\buses: .*$/gm))
        expect(line, file).to.match(/ # v\d+\.\d+\.\d+$/);
    }
  });

  it("leave no credentials in a checkout, and put nothing that others write into a script", () => {
    for (const { name, step } of steps) {
      if (step.uses?.startsWith("actions/checkout@") === true)
        expect(step.with, name).to.have.property("persist-credentials", false);
      expect(step.run ?? "", name).to.not.include("${{");
    }
    for (const { file, text } of workflows) {
      for (const [, secret] of text.matchAll(/secrets\.(\w+)/g))
        expect(secret, file).to.equal("GITHUB_TOKEN");
    }
  });

  it("run scripts that exist, and end in time", () => {
    const { scripts } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")) as {
      scripts: Readonly<Record<string, string>>;
    };
    const run = steps.map(({ step }) => step.run ?? "").join("\n");
    const named = [...run.matchAll(/\bnpm run ([\w:]+)/g)].map(([, script = ""]) => script);
    expect(named).to.include("release");
    for (const script of named) expect(scripts).to.have.property(script);
    const files = [...run.matchAll(/(?:^|\s)(\.ci\/\S+|scripts\/\S+)/g)].map(([, file = ""]) => file);
    expect(files).to.include.members([".ci/run", ".ci/nightly", ".ci/debian-packages"]);
    for (const file of files) expect(existsSync(path.join(root, file)), file).to.equal(true);
    for (const { name, job } of jobs) expect(job["timeout-minutes"], name).to.be.within(1, 360);
  });

  it("build on the image that the Dockerfiles build on", () => {
    const dockerfile = readFileSync(path.join(root, "deploy/docker/agent.Dockerfile"), "utf8");
    const image = /^ARG BUILD_IMAGE=(.*)$/m.exec(dockerfile)?.[1];
    const images = jobs.flatMap(({ job }) => job.container?.image ?? []);
    expect(images).to.deep.equal(Array(3).fill(image));
  });

  it("publish each package of npm by the name of its archive, dependencies first", async () => {
    const { publishedPackages } = await import("./release/published-packages.js");
    const publish = steps.find(({ step }) => step.run?.includes("npm publish") === true)?.step.run ?? "";
    const names = /for name in (.*); do/.exec(publish)?.[1]?.split(" ");
    const archives = publishedPackages.map(({ name }) => name.replace("@", "").replace("/", "-"));
    expect(names).to.deep.equal(archives);
  });
});
