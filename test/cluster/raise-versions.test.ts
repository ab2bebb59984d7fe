import { execFileSync } from "node:child_process";
import { cpSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { machineryModule } from "../../scripts/cluster-machinery.js";
import { blockWith, repository } from "../support/markdown-pages.js";
import { TempDirectory } from "../support/temp-directory.js";

/** In a copy. What is raised is not built, which would take five minutes: Go says that all programs have what they import, and sums of it. */
describe("the commands of CONTRIBUTING.md that raise the versions of Kubernetes and Helm", function () {
  this.timeout(600_000);
  const directory = new TempDirectory();
  after(() => directory.remove());

  it("leave a module of which all programs can be built", () => {
    const module = directory.file(machineryModule);
    cpSync(path.join(repository, machineryModule), module, { recursive: true });
    const commands = blockWith("CONTRIBUTING.md", "go get k8s.io/kubernetes@");
    const env = { ...process.env, GOTOOLCHAIN: "local", GOWORK: "off", GOFLAGS: "-mod=mod" };
    execFileSync("bash", ["-ec", commands], { cwd: directory.path, env, stdio: "pipe" });

    const versions = [
      ...readFileSync(path.join(module, "go.mod"), "utf8").matchAll(/^\tk8s\.io\/\S+ (v\S+)/gm),
    ].map(([, version]) => version);
    const raised = /kubernetes@(v\S+)/.exec(commands)?.[1];
    expect(versions).to.include(raised).and.include(raised?.replace("v1.", "v0."));
    const before = readFileSync(path.join(repository, machineryModule, "go.mod"), "utf8");
    const patch = /k8s\.io\/kubernetes (v\S+)/.exec(before)?.[1]?.replace("v1.", "v0.");
    expect(versions, "what was not raised").not.to.include(patch);

    const listed = execFileSync("go", ["list", "-mod=readonly", "tool"], {
      cwd: module,
      env: { ...env, GOFLAGS: "" },
      encoding: "utf8",
    });
    expect(listed.trim().split("\n").sort()).to.deep.equal(
      [...(/^tool \((.*?)^\)/ms.exec(before)?.[1] ?? "").matchAll(/\S+/g)].map(([name]) => name).sort(),
    );
  });
});
