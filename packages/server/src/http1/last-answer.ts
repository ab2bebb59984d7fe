/** An HTTP/1.1 answer in text, after which the server closes the connection. `headers` are lines with their ends. */
export function lastAnswer(status: string, text: string, headers = ""): string {
  return `HTTP/1.1 ${status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: ${text.length + 1}\r\n${headers}connection: close\r\n\r\n${text}\n`;
}
