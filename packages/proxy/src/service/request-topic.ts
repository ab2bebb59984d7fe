import type { TopicKey } from "@bunting/protocol";
import type { Call } from "@bunting/rpc";

/**
 * The topic that a request selects. The header `flagd-selector` wins over the field of the message, which is deprecated. An empty header
 * counts as absent, because an empty selector selects nothing here (for flagd it means "all flags").
 */
export function requestTopic(
  call: Call,
  fieldSelector: string,
  parseSelector: (selector: string) => TopicKey,
): TopicKey {
  const header = call.header("flagd-selector") ?? "";
  return parseSelector(header === "" ? fieldSelector : header);
}
