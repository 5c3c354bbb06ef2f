"""The programs that `pyxis connect` prints for LangChain and the OpenAI Agents SDK: each lists the tools, reads, and
writes after an approval. Arguments: those of installation.py."""

import ast
import asyncio
import inspect
import os
import subprocess

from installation import AGENT_KEY, PROGRAM, SECRET, SERVER, TOOLS, approved, check_sent, start_upstream


async def printed(name):
    """Executes what `pyxis connect` prints, in an asynchronous function as its guide says, and returns its names."""
    command = [PROGRAM, "connect", name, "--url", SERVER]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    names = {}
    done = eval(compile(text, name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)
    if inspect.isawaitable(done):
        await done
    return names


async def check_langchain(call):
    tools = {tool.name: tool for tool in (await printed("langchain"))["tools"]}
    assert list(tools) == TOOLS, tools

    async def use(tool, arguments):
        return str(await tools[tool].ainvoke(arguments))

    await check_uses(use, call)


async def check_openai_agents(call):
    pyxis = (await printed("openai-agents"))["pyxis"]

    async def use(tool, arguments):
        return (await pyxis.call_tool(tool, arguments)).model_dump_json()

    async with pyxis:
        assert [tool.name for tool in await pyxis.list_tools()] == TOOLS
        await check_uses(use, call)


async def check_uses(use, call):
    assert "programs" in await use("services", {})
    assert "200 OK" in await use("call", call)
    written = await approved(use("call", call | {"method": "POST", "body": {"by": "a program"}}))
    assert "200 OK" in written and SECRET not in written, written
    check_sent({"by": "a program"})


def main():
    os.environ["PX_AGENT_KEY"] = AGENT_KEY
    call = {"credential": "programs", "url": start_upstream("programs") + "/things"}
    for name, check in (("LangChain", check_langchain), ("OpenAI Agents SDK", check_openai_agents)):
        asyncio.run(asyncio.wait_for(check(call), 60))
        print(f"python client: {name}: passed")


main()
