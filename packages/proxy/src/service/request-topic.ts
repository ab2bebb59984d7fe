import type { TopicKey } from "@bunting/protocol";
import type { Call } from "@bunting/rpc";

/**
 * The selector a request names its topic by. The header `flagd-selector` wins over the field of the message, which is deprecated; an
 * empty header is as good as none, though, since here an empty selector names nothing (to flagd it means "all flags").
 */
export function requestTopic(
  call: Call,
  fieldSelector: string,
  parseSelector: (selector: string) => TopicKey,
): TopicKey {
  const header = call.header("flagd-selector") ?? "";
  return parseSelector(header === "" ? fieldSelector : header);
}
