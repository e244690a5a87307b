/**
 * A program of its own, since a flood from the server's process would wait for the server: sends one request again and
 * again, each over a new connection, until it has sent enough of them.
 * Arguments: port, path, clients, requests.
 */
import { connect } from 'node:net'

const [port = '', path = '', clients = '', requests = ''] = process.argv.slice(2)
const bytes = `GET ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`

function request(): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const socket = connect(Number(port), '127.0.0.1', () => socket.write(bytes))
  socket.on('data', () => {})
  socket.on('error', reject)
  socket.on('close', () => resolve())
  return promise
}

let sent = 0
await Promise.all(
  Array.from({ length: Number(clients) }, async () => {
    while (sent++ < Number(requests)) await request()
  }),
)
