let second = 0;
let text = "";

/** The value of the header Date, which is made once a second. */
export function httpDate(): string {
  const now = Date.now();
  const current = Math.floor(now / 1_000);
  if (current !== second) {
    second = current;
    text = new Date(now).toUTCString();
  }
  return text;
}
