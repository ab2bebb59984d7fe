import os from "node:os";
import { Gauge, type Registry } from "@bunting/runtime";
import { version } from "../version.js";

/** What produces the metrics, under OpenTelemetry's names. */
export function targetInfo(registry: Registry): void {
  const labels = {
    host_name: os.hostname(),
    os_description: `${os.type()} ${os.release()}`,
    os_type: os.platform(),
    process_runtime_version: process.version,
    service_name: "flagd",
    service_version: version,
    telemetry_sdk_language: "nodejs",
    telemetry_sdk_name: "bunting",
    telemetry_sdk_version: version,
  };
  new Gauge({
    name: "target_info",
    help: "What produces these metrics.",
    labelNames: Object.keys(labels),
    registers: [registry],
  }).set(labels, 1);
}
