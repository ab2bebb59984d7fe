import { writeFileSync } from "node:fs";
import { expect } from "chai";
import {
  agentImage,
  binaries,
  operatorImage,
  proxyImage,
  ServiceProcess,
} from "../support/service-process.js";
import { TempDirectory } from "../support/temp-directory.js";

/** Sends the process SIGTERM as soon as the program loads one of these modules of node, which is before it has read its options. */
const preload = `
  const Module = require("node:module");
  const { _load } = Module;
  Module._load = function (name, ...rest) {
    if (/^(node:)?(http|https|v8)$/.test(name)) {
      Module._load = _load;
      process.kill(process.pid, "SIGTERM");
    }
    return _load.call(this, name, ...rest);
  };`;

const ports = ["--port=0", "--management-port=0"];
const programs = {
  agent: { image: agentImage, args: ["start", ...ports, "--sync-port=0", "--ofrep-port=0"] },
  proxy: { image: proxyImage, args: ["start", ...ports] },
  operator: { image: operatorImage, args: ["start"] },
};

describe("a SIGTERM while the program is being loaded", () => {
  let directory: TempDirectory;
  before("writes what sends it", () => {
    directory = new TempDirectory();
    writeFileSync(directory.file("preload.cjs"), preload);
  });
  after(() => directory.remove());

  // The signal would end this process without a listener, too, but not the first process of a container, to which Linux does not deliver it then.
  for (const program of ["agent", "proxy", "operator"] as const)
    it(`is listened for by the ${program}`, async () => {
      const { image, args } = programs[program];
      const nodeFlags = [...image.nodeFlags, "--require", directory.file("preload.cjs")];
      const started = new ServiceProcess(binaries[program], {
        args,
        image: { ...image, nodeFlags },
      });
      const code = await started.exit;
      // 143 before the program listens itself, and 0 from then on.
      expect(code === 143 || code === 0, `exit code ${code}: ${started.output}`).to.equal(true);
    });
});
