import { requireKnowledgeBase } from '../../../../core/domain/access/catalog-snapshot.ts'
import { AppError } from '../../../../core/errors.ts'
import type {
  InsertFilesOutcome,
  SentDocumentFile,
} from '../../../../ingest/pipeline/insert-files.ts'
import { INSERT_FILES_RESULT } from '../../answers/records/knowledge-base-schemas.ts'
import { type ReceivedFile, receivedFiles } from '../../bodies/received-files.ts'
import { READING_FORM } from '../../bodies/upload-fields.ts'
import { route } from '../../openapi/openapi.ts'
import type { AddRoutes } from '../../request/route-context.ts'

const DESCRIPTION = `Each part \`file\` is read and stored as a document; the file itself is not kept.

- The id of a document is the name that its file is sent under, with its folders
- Of a mailbox each message is a document, of a table each row
- The metadata \`file_path\` and \`file_hash\` (SHA-256 of the bytes) say where a document is from
- The other fields of the form hold for all of its files`

export const addInsertFilesRoutes: AddRoutes = (app, context) => {
  const { fileBytes, insertFiles } = context.deps
  app.post(
    '/api/projects/:project_name/knowledge_bases/:knowledge_base_name/files',
    async ({ request, params: { project_name, knowledge_base_name } }) => {
      const named = () =>
        requireKnowledgeBase(context.snapshot(), project_name, knowledge_base_name)
      // 404 before the body is read, and again after it: the knowledge base may change meanwhile.
      named()
      const scope = context.scopeOf(request)
      const outcome = await fileBytes.withFolder(async (folder) => {
        const { files, fields } = await receivedFiles(context, request, folder)
        return insertFiles({ kb: named(), files: files.map(sentFile), fields }, scope.signal)
      })
      scope.skippedRows = outcome.files.reduce((sum, { skippedRows }) => sum + skippedRows, 0)
      return Response.json(outcomeRecord(outcome))
    },
    route({
      needs: 'write',
      id: 'insertFiles',
      summary: 'Insert the files of a form, each as a document of its own name',
      takes: ['multipart/form-data'],
      form: READING_FORM,
      description: DESCRIPTION,
      tag: 'Knowledge bases',
      answers: {
        200: {
          description: 'What was stored, and what could not be read',
          schema: INSERT_FILES_RESULT,
        },
        404: 'No such project or knowledge base',
        413: 'More than EIDER_FILE_BYTES_MAX',
      },
    }),
  )
}

function sentFile({ path, sizeBytes, sentName, contentType }: ReceivedFile): SentDocumentFile {
  if (sentName !== null) return { path, sizeBytes, name: sentName, contentType }
  throw new AppError('missing_parameter', 'Must provide parts "file" with a file name in a form')
}

function outcomeRecord({ files, failed }: InsertFilesOutcome) {
  return {
    files: files.map(({ skippedRows, hash, ...file }) => {
      return { ...file, file_hash: hash, skipped_rows: skippedRows }
    }),
    failed,
  }
}
