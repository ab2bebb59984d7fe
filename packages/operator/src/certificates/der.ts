/** Tags of X.690, as far as certificates need them. */
export const derTag = Object.freeze({
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  objectIdentifier: 0x06,
  utf8String: 0x0c,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
});

/** A value in DER: its tag, its length, and the parts one after the other. */
export function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const value = Buffer.concat(parts);
  return Buffer.concat([Buffer.of(tag), derLength(value.length), value]);
}

/** The tag of a member that is told by its number instead of its type. */
export function contextTag(number: number, isConstructed = false): number {
  return 0x80 | (isConstructed ? 0x20 : 0) | number;
}

/** A time in whole seconds. X.509 has two forms, and prescribes which one is for which years (RFC 5280, 4.1.2.5). */
export function derTime(ms: number): Buffer {
  const digits = `${new Date(ms).toISOString().slice(0, 19).replace(/\D/g, "")}Z`;
  const isShort = new Date(ms).getUTCFullYear() < 2050;
  return isShort
    ? der(derTag.utcTime, Buffer.from(digits.slice(2)))
    : der(derTag.generalizedTime, Buffer.from(digits));
}

/** An object identifier, such as `2.5.29.17`. */
export function objectIdentifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...others] = dotted.split(".").map(Number);
  return der(
    derTag.objectIdentifier,
    Buffer.from([first * 40 + second, ...others].flatMap((arc) => base128(arc))),
  );
}

function derLength(bytes: number): Buffer {
  if (bytes < 0x80) return Buffer.of(bytes);
  const hex = bytes.toString(16);
  const digits = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, "hex");
  return Buffer.concat([Buffer.of(0x80 | digits.length), digits]);
}

/** Groups of seven bits, the highest first; all but the last have the eighth bit set. */
function base128(arc: number): readonly number[] {
  const groups = [arc & 0x7f];
  for (let rest = arc >>> 7; rest > 0; rest >>>= 7) groups.unshift((rest & 0x7f) | 0x80);
  return groups;
}
