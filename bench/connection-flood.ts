/**
 * Sends one request again and again, each time over a new connection. A separate program, because
 * in a server's process it would wait for that server. Arguments: port, the request as JSON
 * (`method`, `path`, `body`), clients, requests.
 */
import { connect } from 'node:net'

const [port = '', sent = '', clients = '', requests = ''] = process.argv.slice(2)
const { method = 'GET', path, body = '' } = JSON.parse(sent)
const head = [
  `${method} ${path} HTTP/1.1`,
  ...['host: localhost', 'connection: close', 'content-type: application/json'],
  `content-length: ${Buffer.byteLength(body)}`,
]
const bytes = Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`)

function request(): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const socket = connect(Number(port), '127.0.0.1', () => socket.write(bytes))
  socket.on('data', () => {})
  socket.on('error', reject)
  socket.on('close', () => resolve())
  return promise
}

let count = 0
await Promise.all(
  Array.from({ length: Number(clients) }, async () => {
    while (count++ < Number(requests)) await request()
  }),
)
