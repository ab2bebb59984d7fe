import { spawnSync } from "node:child_process";
import { EventEmitter } from "node:events";
import { expect } from "chai";
import { logNodeWarnings } from "./log-node-warnings.js";

describe("logNodeWarnings", () => {
  it("logs warnings, and deprecations for who debugs, in place of those who print them", () => {
    const target = new EventEmitter() as EventEmitter & Pick<NodeJS.Process, "on" | "removeAllListeners">;
    const lines: unknown[] = [];
    target.on("warning", () => lines.push("printed"));
    const log =
      (level: string) =>
      (...line: readonly unknown[]): void =>
        void lines.push([level, ...line]);
    logNodeWarnings(
      { warn: log("warn"), debug: log("debug") } as Parameters<typeof logNodeWarnings>[0],
      target,
    );
    target.emit("warning", Object.assign(new Error("so many"), { name: "MaxListenersExceededWarning" }));
    target.emit("warning", Object.assign(new Error("old"), { name: "DeprecationWarning", code: "DEP0123" }));
    expect(lines).to.deep.equal([
      ["warn", { warning: "MaxListenersExceededWarning" }, "so many"],
      ["debug", { warning: "DeprecationWarning", code: "DEP0123" }, "old"],
    ]);
  });

  it("leaves nothing of node's own that prints", () => {
    const script =
      'process.removeAllListeners("warning"); process.emitWarning("old", "DeprecationWarning", "DEP0123"); process.emitWarning("other");';
    const { stderr, status } = spawnSync(process.execPath, ["-e", script], { encoding: "utf8" });
    expect({ stderr, status }).to.deep.equal({ stderr: "", status: 0 });
  });
});
