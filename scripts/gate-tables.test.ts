import { readFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { parseStages, type Stage } from "./stages.js";

const root = path.dirname(import.meta.dirname);

function stagesOf(script: string): readonly Stage[] {
  const table = /<< 'STAGES'\n([^]*?)\nSTAGES\n/.exec(readFileSync(path.join(root, script), "utf8"))?.[1];
  return parseStages(table ?? "");
}

for (const script of [".ci/run", ".ci/nightly"]) {
  describe(`the stages of ${script}`, () => {
    const stages = stagesOf(script);
    const { scripts } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")) as {
      readonly scripts: Readonly<Record<string, string>>;
    };

    it("run the tests by the command of the README", () => {
      expect(stages.find(({ name }) => name === "test")?.command).to.equal("npm test");
    });

    it("are named as the script that they run, by which failed files are run again", () => {
      const ofTests = stages.filter(({ name }) => name.startsWith("test"));
      expect(ofTests.length).to.be.at.least(6);
      for (const { name, command } of ofTests) {
        const npmScript = name.replace(/\/.*/, "");
        expect(scripts, npmScript).to.have.property(npmScript);
        if (npmScript !== "test") expect(command).to.contain(`npm run --silent ${npmScript}`);
      }
    });

    it("run each script that is there, and each folder of tests", () => {
      for (const { command } of stages) {
        for (const [, npmScript = ""] of command.matchAll(/npm run --silent ([\w:]+)/g))
          expect(scripts).to.have.property(npmScript);
      }
      const names = stages.map(({ name }) => name);
      expect(names).to.include.members([
        "test",
        "test:node20",
        "test:cluster",
        "test:helm",
        "test:images",
        "test:node",
      ]);
    });

    it("measure the memory of Pods after the tests that start others, and after those that fill the page cache", () => {
      const byName = new Map(stages.map((stage) => [stage.name, stage]));
      const before = new Set<string>();
      const add = (name: string): void => {
        for (const other of byName.get(name)?.after ?? []) {
          before.add(other);
          add(other);
        }
      };
      add("test:memory");
      expect([...before]).to.include.members(["test:node", "test:images", "test:helm", "images"]);
    });
  });
}
