import { endProcess, runProgram, type Program } from "./cli.js";
import { logNodeWarnings } from "./log-node-warnings.js";
import { createLogger, type Logger } from "./logger.js";
import type { OptionsOf, OptionTable } from "./options/option.js";
import type { ServiceOptionTable } from "./options/service-options.js";
import { processSignals } from "./process-signals.js";

/** A program that runs until a signal ends it. */
export interface Service<Table extends OptionTable & ServiceOptionTable> extends Omit<
  Program<Table>,
  "start"
> {
  /** Runs until abort, and releases all it took. */
  readonly run: (options: OptionsOf<Table>, logger: Logger, signal: AbortSignal) => Promise<void>;
}

/**
 * Runs a service as this process: its log has the format of the options, warnings of the command line and of node are logged, and the process
 * ends once the service has. Only main.ts may call this.
 */
export async function runService<const Table extends OptionTable & ServiceOptionTable>(
  service: Service<Table>,
): Promise<void> {
  const start = async (options: OptionsOf<Table>, warnings: readonly string[]): Promise<void> => {
    const { logFormat, debug } = options as OptionsOf<ServiceOptionTable>;
    const logger = createLogger({ format: logFormat, debug });
    logNodeWarnings(logger);
    for (const warning of warnings) logger.warn(warning);
    const stop = processSignals();
    try {
      await service.run(options, logger, stop.signal);
    } finally {
      stop.release();
    }
  };
  endProcess(await runProgram({ ...service, start }, process.argv.slice(2), process.env));
}
