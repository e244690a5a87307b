/**
 * A separate program that builds the page's files, writes them to standard output and exits, which
 * frees the bundler's memory. Output: one line of JSON with the name, size and compressed size of
 * each file, then the files' bytes in that order. Argument: the page's HTML file.
 */
import { build, gzipSync } from 'bun'

const [page = ''] = process.argv.slice(2)

const bundle = await build({
  entrypoints: [page],
  target: 'browser',
  format: 'esm',
  splitting: true,
  minify: true,
  publicPath: '/assets/',
  naming: {
    entry: '[name]-[hash].[ext]',
    chunk: '[name]-[hash].[ext]',
    asset: '[name]-[hash].[ext]',
  },
  define: { 'process.env.NODE_ENV': '"production"' },
})
const files = await Promise.all(
  bundle.outputs.map(async (output) => {
    const bytes = new Uint8Array(await output.arrayBuffer())
    const name = output.path.replace(/^.*[\\/]/, '')
    return { name, bytes, gzipped: gzipSync(bytes, { level: 9 }) }
  }),
)
const head = files.map(({ name, bytes, gzipped }) => [name, bytes.length, gzipped.length])
const parts = files.flatMap(({ bytes, gzipped }) => [bytes, gzipped])
await Bun.write(Bun.stdout, Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), ...parts]))
