import { t } from 'elysia'
import { requireProject } from '../../../../core/domain/access/catalog-snapshot.ts'
import { AppError } from '../../../../core/errors.ts'
import { JOB } from '../../answers/records/catalog-schemas.ts'
import { IMPORT_RESULT } from '../../answers/records/knowledge-base-schemas.ts'
import { streamedResponse } from '../../answers/streamed-response.ts'
import { jobRecord } from '../../answers/wire.ts'
import { queryParameters, truth } from '../../bodies/query-parameters.ts'
import { receivedFiles } from '../../bodies/received-files.ts'
import { route } from '../../openapi/openapi.ts'
import type { AddRoutes } from '../../request/route-context.ts'
import { knowledgeBaseAt } from './knowledge-base-path.ts'

const KB = '/api/projects/:project_name/knowledge_bases/:knowledge_base_name' as const
const PARQUET = 'application/vnd.apache.parquet'
const BYTES = 'application/octet-stream'

const tag = 'Documents'
const IMPORT = queryParameters({
  background: truth({ description: 'A job stores them: the answer is 202, at once' }),
})

export const addTransferRoutes: AddRoutes = (app, context) => {
  const { transfers, fileBytes } = context.deps
  app.get(
    `${KB}/export`,
    async ({ request, params }) => {
      const kb = knowledgeBaseAt(context, params)
      const scope = context.scopeOf(request)
      const { pieces } = await transfers.export(kb, scope.signal)
      const name = encodeURIComponent(`${kb.name}.parquet`)
      const headers = {
        'content-type': request.headers.get('accept') === BYTES ? BYTES : PARQUET,
        'content-disposition': `attachment; filename*=UTF-8''${name}`,
      }
      return streamedResponse(pieces, { headers, scope })
    },
    route({
      needs: 'read',
      id: 'exportKnowledgeBase',
      summary: 'Export a knowledge base with its vectors',
      tag,
      produces: PARQUET,
      answers: {
        200: {
          description:
            'A Parquet file: a row for each chunk, the definition without secrets beside them',
          // Generators know it by this name.
          also: { [BYTES]: t.String({ format: 'binary' }) },
        },
        404: 'No such project or knowledge base',
      },
    }),
  )
  app.post(
    `${KB}/import`,
    async ({ request, params }) => {
      const { project_name: projectName, knowledge_base_name: name } = params
      requireProject(context.snapshot(), projectName)
      const { background: isBackground } = IMPORT.read(request)
      return fileBytes.withFolder(async (folder) => {
        const { files } = await receivedFiles(context, request, folder)
        const [file, ...others] = files
        if (file === undefined || others.length > 0) {
          throw new AppError('missing_parameter', 'Send one file: as the body, or as a part "file"')
        }
        const order = { projectName, name, path: file.path }
        if (isBackground) {
          return Response.json(jobRecord(await transfers.importInBackground(order)), {
            status: 202,
          })
        }
        const { signal } = context.scopeOf(request)
        const { isCreated, documents, chunks } = await transfers.import(order, signal)
        const record = { knowledge_base: name, created: isCreated, documents, chunks }
        return Response.json(record, { status: isCreated ? 201 : 200 })
      })
    },
    route({
      needs: 'write',
      id: 'importKnowledgeBase',
      summary: 'Import an exported knowledge base; nothing is embedded',
      query: IMPORT,
      // PARQUET is taken, too: generators know the general name.
      takes: [BYTES, 'multipart/form-data'],
      description:
        'The file is the body, or the part `file` of a form. The knowledge base is made where there is none of that name. Documents of the file take the place of those with their ids, all of them or none.',
      tag,
      answers: {
        200: { description: 'How many documents and chunks were stored', schema: IMPORT_RESULT },
        202: { description: 'With background=true, the job that stores them', schema: JOB },
        201: { description: 'The same; the knowledge base was made', schema: IMPORT_RESULT },
        400: 'The file is not an export, or is damaged',
        404: 'No such project',
        409: 'The file holds vectors of another model',
        413: 'More than EIDER_FILE_BYTES_MAX',
      },
    }),
  )
}
