"""What the conformance suite reads: resources, prompts, completions.

Knows the addresses, names and texts that the suite asks for.
"""

from __future__ import annotations

import json
import re

import mcp_types as types
from mcp.shared.exceptions import MCPError

from everything import rounds
from everything.contents import PIXEL, Context, enclosed, picture

_TEMPLATE = "test://template/{id}/data"
_TEXTS = {
    "test://static-text": "This is the content of the static text resource.",
    "test://watched-resource": "Somebody looks at this.",
}


async def list_resources(_: Context, __: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
    addresses = [*_TEXTS, "test://static-binary"]
    return types.ListResourcesResult(
        resources=[types.Resource(uri=uri, name=uri.rpartition("/")[2], description="to be read") for uri in addresses]
    )


async def list_templates(_: Context, __: types.PaginatedRequestParams | None) -> types.ListResourceTemplatesResult:
    template = types.ResourceTemplate(uri_template=_TEMPLATE, name="template", description="one for each id")
    return types.ListResourceTemplatesResult(resource_templates=[template])


async def read(_: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    uri = params.uri
    if uri == "test://static-binary":
        return types.ReadResourceResult(
            contents=[types.BlobResourceContents(uri=uri, mime_type="image/png", blob=PIXEL)]
        )
    if uri in _TEXTS:
        return _text(uri, "text/plain", _TEXTS[uri])
    if found := re.fullmatch(r"test://template/([^/]+)/data", uri):
        number = found[1]
        document = {"id": number, "templateTest": True, "data": f"Data for ID: {number}"}
        return _text(uri, "application/json", json.dumps(document))
    raise MCPError(types.INVALID_PARAMS, "Resource not found", {"uri": uri})


async def subscribe(_: Context, __: types.SubscribeRequestParams) -> types.EmptyResult:
    return types.EmptyResult()


async def unsubscribe(_: Context, __: types.UnsubscribeRequestParams) -> types.EmptyResult:
    return types.EmptyResult()


async def set_level(_: Context, __: types.SetLevelRequestParams) -> types.EmptyResult:
    return types.EmptyResult()


async def list_prompts(_: Context, __: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
    return types.ListPromptsResult(
        prompts=[
            types.Prompt(
                name=name,
                description="to be asked for",
                arguments=[types.PromptArgument(name=argument, required=True) for argument in arguments],
            )
            for name, arguments in _PROMPTS.items()
        ]
    )


async def get_prompt(
    context: Context, params: types.GetPromptRequestParams
) -> types.GetPromptResult | types.InputRequiredResult:
    given = params.arguments or {}
    match params.name:
        case "test_simple_prompt":
            return _messages(_words("This is a simple prompt for testing."))
        case "test_prompt_with_arguments":
            return _messages(_words(f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'"))
        case "test_prompt_with_embedded_resource":
            document = enclosed(given["resourceUri"], "text/plain", "Embedded resource content for testing.")
            return _messages(document, _words("Please process the embedded resource above."))
        case "test_prompt_with_image":
            return _messages(picture(), _words("Please analyze the image above."))
        case "test_input_required_result_prompt":
            return await rounds.prompt(context, params)
        case other:
            raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {other}")


async def complete(_: Context, __: types.CompleteRequestParams) -> types.CompleteResult:
    return types.CompleteResult(completion=types.Completion(values=["paris", "park"], total=2, has_more=False))


_PROMPTS: dict[str, tuple[str, ...]] = {
    "test_simple_prompt": (),
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (),
    "test_input_required_result_prompt": (),
}


def _text(uri: str, mime_type: str, text: str) -> types.ReadResourceResult:
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, mime_type=mime_type, text=text)])


def _words(text: str) -> types.TextContent:
    return types.TextContent(text=text)


def _messages(*contents: types.ContentBlock) -> types.GetPromptResult:
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=content) for content in contents])
