import { RuntimeError } from "../runtime-error.js";
import type { OptionTable } from "./option.js";
import { suggestVariable } from "./suggest-flag.js";

/** Ours, also behind the prefix that the open-feature-operator puts before the variables of a FeatureFlagSource. */
const ours = /^(?:FLAGD_)?(BUNTING_.*)$/;
/** Names that kubelet gives the variables of a Service, such as one called `bunting-proxy`, in each Pod of its namespace. */
const serviceLink = /_SERVICE_(?:HOST|PORT(?:_.*)?)$|_PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?$/;
const serviceAddress = /^(?:tcp|udp|sctp):\/\//;

/**
 * Refuses a variable `BUNTING_…` that none of our programs reads: it was meant as an option, and is none.
 *
 * @throws RuntimeError OPTION_INVALID
 */
export async function refuseUnknownVariables(
  table: OptionTable,
  env: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  const own = Object.values(table).flatMap((spec) => spec.env);
  const strangers = Object.entries(env).filter(
    ([name, value = ""]) =>
      ours.test(name) &&
      value !== "" &&
      !own.includes(name) &&
      !(name.endsWith("_PORT") && serviceAddress.test(value)) &&
      !serviceLink.test(name),
  );
  if (strangers.length === 0) return;
  // Loaded only where it is needed: a container may have variables of another of our programs.
  const { variables } = await import("../gen/variables.js");
  for (const [name] of strangers) {
    const plain = ours.exec(name)?.[1] ?? name;
    if (variables.includes(plain)) continue;
    const known = own.filter((one) => one.startsWith("BUNTING_"));
    const message = `unknown environment variable: ${name}${suggestVariable(plain, known)}; --help lists all that are read`;
    throw new RuntimeError("OPTION_INVALID", message);
  }
}
