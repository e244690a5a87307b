import { requireFile } from '../../domain/catalog-snapshot.ts'
import { type AddRoutes, readBody, snapshotOf } from '../edge.ts'
import { route } from '../openapi.ts'
import { uploadedBody } from '../upload.ts'
import { fileRecord } from '../wire.ts'

const ONE = '/api/files/:file_name'

const tag = 'Files'
const missing = { 404: 'No such file' }

export const addFileRoutes: AddRoutes = (app, edge) => {
  const { deps } = edge
  app.get(
    '/api/files',
    () => Response.json(snapshotOf(edge).files.map(fileRecord)),
    route({ summary: 'List the files', tag, answers: { 200: 'Their records' } }),
  )
  app.get(
    ONE,
    ({ params }) => Response.json(fileRecord(requireFile(snapshotOf(edge), params.file_name))),
    route({ summary: 'Read about a file', tag, answers: { 200: 'Its record', ...missing } }),
  )
  app.put(
    ONE,
    async ({ request, params: { file_name: name } }) => {
      const asked = new URL(request.url).searchParams.get('original_file_name')
      const file = await uploadedBody({
        bytes: await readBody(edge, request),
        contentType: request.headers.get('content-type') ?? '',
        fallbackName: asked === null || asked === '' ? name : asked,
      })
      await deps.uploadFile({ name, ...file }, edge.scopeOf(request).signal)
      return Response.json('')
    },
    route({
      summary: 'Upload a file: a form with the part "file", or its bytes as the body',
      tag,
      answers: { 200: 'Stored; an empty JSON string', 400: 'Not readable, or the name is taken' },
    }),
  )
  app.delete(
    ONE,
    async ({ params }) => {
      await deps.dropFile(requireFile(snapshotOf(edge), params.file_name))
      return new Response(null, { status: 204 })
    },
    route({ summary: 'Delete a file', tag, answers: { 204: 'Deleted', ...missing } }),
  )
}
