import type { TopicKey } from "@bunting/protocol";
import type { Call } from "@bunting/rpc";
import type { Access, Admission } from "./access.js";

/**
 * Admits a call that is about one topic. A promise only where access needs one.
 *
 * @throws ProxyError if the caller is refused
 */
export function admitToTopic(access: Access, call: Call, topic: TopicKey): Admission | Promise<Admission> {
  const admission = access.admit(call);
  if (admission instanceof Promise)
    return admission.then((settled) => authorize(access, call, topic, settled));
  return authorize(access, call, topic, admission);
}

function authorize(
  access: Access,
  call: Call,
  topic: TopicKey,
  admission: Admission,
): Admission | Promise<Admission> {
  const refusal = access.authorize(admission, topic, call.stream.session);
  if (refusal === undefined) return admission;
  if (!(refusal instanceof Promise)) throw refusal;
  return refusal.then((settled) => {
    if (settled !== undefined) throw settled;
    return admission;
  });
}
