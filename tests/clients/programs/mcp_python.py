"""What the official Python client of MCP does with a server: EIDER_URL, and EIDER_API_KEY where there is a login."""
import asyncio
import json
import os

import httpx2 as httpx
from mcp.client.session import ClientSession
from mcp.client.streamable_http import streamable_http_client


async def main():
    key = os.environ.get('EIDER_API_KEY')
    headers = {'Authorization': f'Bearer {key}'} if key else {}
    async with httpx.AsyncClient(headers=headers) as http:
        async with streamable_http_client(f"{os.environ['EIDER_URL']}/mcp", http_client=http) as streams:
            async with ClientSession(streams[0], streams[1]) as session:
                started = await session.initialize()
                tools = await session.list_tools()
                found = await session.call_tool('search', {'query': 'hot green tea'})
                document = json.loads(found.content[0].text)['results'][0]
                fetched = await session.call_tool('fetch', {'id': document['id']})
                steps = []

                async def on_progress(progress, total, message):
                    steps.append(message)

                asked = await session.call_tool(
                    'ask_agent',
                    {'agent': 'helper', 'question': 'How hot is green tea steeped?'},
                    progress_callback=on_progress,
                )
                print(json.dumps({
                    'server': started.server_info.name,
                    'tools': [tool.name for tool in tools.tools],
                    'found': document['title'],
                    'text': json.loads(fetched.content[0].text)['text'],
                    'answer': asked.structured_content['answer'],
                    'progress': len(steps),
                }))


asyncio.run(main())
