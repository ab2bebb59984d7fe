import { writeFileSync } from "node:fs";
import { rootCertificates } from "node:tls";
import { expect } from "chai";
import { eventually } from "../support/event-queue.js";
import { binaries, operatorImage, ServiceProcess } from "../support/service-process.js";
import { TempDirectory } from "../support/temp-directory.js";

/** The work after which there is something to collect, in microseconds of processor time. */
const preload = "while (process.cpuUsage().user < 700_000);";

/** V8 11, of Node 20, collects all, and keeps what it has emptied. */
const itOnNewV8 = Number.parseInt(process.versions.v8, 10) >= 12 ? it : it.skip;

describe("an operator that rests after work", function () {
  this.timeout(60_000);
  const directory = new TempDirectory();
  after(() => directory.remove());

  itOnNewV8("gives back the memory that the work took, as its image starts it", async () => {
    writeFileSync(directory.file("preload.cjs"), preload);
    for (const file of ["token", "namespace"]) writeFileSync(directory.file(file), "bunting-system");
    writeFileSync(directory.file("ca.crt"), rootCertificates[0] ?? "");
    const nodeFlags = [...operatorImage.nodeFlags, "--trace-gc", "--require", directory.file("preload.cjs")];
    const ports = ["--health-probe-bind-address=127.0.0.1:0", "--metrics-bind-address=0", "--webhook-port=0"];
    // No API server is there, for which it waits.
    const operator = new ServiceProcess(binaries.operator, {
      args: ["start", `--service-account-directory=${directory.path}`, ...ports],
      env: { KUBERNETES_SERVICE_HOST: "127.0.0.1", KUBERNETES_SERVICE_PORT: "9", POD_NAME: "operator" },
      image: { ...operatorImage, nodeFlags },
    });
    try {
      const collected = (): boolean => operator.words.some((line) => line.includes("(reduce)"));
      await eventually(() => collected() || operator.hasEnded, "a collection for want of memory");
      expect(collected(), operator.output).to.equal(true);
    } finally {
      await operator.stop("SIGKILL");
    }
  });
});
