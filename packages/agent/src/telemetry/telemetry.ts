import type { RequestListener } from "node:http";
import type { Component } from "@bunting/runtime";
import type { EvaluationService } from "../api/evaluation-service.js";
import type { OpenTelemetry } from "./open-telemetry.js";
import type { TelemetryDependencies } from "./telemetry-dependencies.js";
import { traceEvaluations, traceOfrep, type SpanStarter } from "./tracing.js";

/** Traces and metrics for an OpenTelemetry collector. The libraries are loaded when it starts, and only if there is a collector. */
export class Telemetry {
  readonly #options: TelemetryDependencies;
  readonly #starter: SpanStarter = {
    serve: (name, headers, attributes) => this.#started().serve(name, headers, attributes),
  };
  #openTelemetry: OpenTelemetry | undefined;

  constructor(options: TelemetryDependencies) {
    this.#options = options;
  }

  /** Whether requests are traced. */
  get isOn(): boolean {
    return this.#options.collector !== undefined;
  }

  /** The same service if nothing is traced. */
  evaluations(service: EvaluationService): EvaluationService {
    return this.isOn ? traceEvaluations(service, this.#starter) : service;
  }

  /** The same listener if nothing is traced. */
  ofrep(listener: RequestListener): RequestListener {
    return this.isOn ? traceOfrep(listener, this.#starter) : listener;
  }

  component(reason: string): Component {
    return {
      name: "telemetry",
      reason,
      start: async () => {
        const { collector } = this.#options;
        if (collector === undefined) return;
        const { OpenTelemetry } = await import("./open-telemetry.js");
        this.#openTelemetry = await OpenTelemetry.start({ ...this.#options, collector });
      },
      stop: async () => this.#openTelemetry?.stop(),
    };
  }

  #started(): OpenTelemetry {
    if (this.#openTelemetry === undefined) throw new Error("telemetry has not been started");
    return this.#openTelemetry;
  }
}
