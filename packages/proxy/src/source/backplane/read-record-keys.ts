import { RecordKeys } from "@bunting/backplane";
import { ProxyError } from "../../proxy-error.js";

/** Reads the keys of `--backplane-key-file`. Rejects with a ProxyError OPTION_INVALID. */
export async function readRecordKeys(path: string): Promise<RecordKeys> {
  return RecordKeys.read(path).catch((cause: unknown) => {
    throw ProxyError.optionInvalid(`--backplane-key-file: ${(cause as Error).message}`, { cause });
  });
}
