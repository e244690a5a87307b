/**
 * A program of its own: makes the files of the page and ends. The bundler's memory ends with it.
 * Arguments: the page's HTML file, and the empty folder that the files go to.
 */
import { Glob } from 'bun'

const [page = '', folder = ''] = process.argv.slice(2)

const bundle = await Bun.build({
  entrypoints: [page],
  outdir: folder,
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
if (!bundle.success) throw new AggregateError(bundle.logs, 'The page could not be bundled')
for await (const name of new Glob('*').scan(folder)) {
  const bytes = await Bun.file(`${folder}/${name}`).bytes()
  await Bun.write(`${folder}/${name}.gz`, Bun.gzipSync(bytes, { level: 9 }))
}
