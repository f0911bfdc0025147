"""POST /v1/links/{id}/qrcode"""

import asyncio
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from resources.links.env import faults
from resources.qrcodes.codes_env import DEFAULT, Env

STYLE = {
    "foreground": "#1d3557",
    "background": "#f1faee",
    "level": "H",
    "style": "fluid",
    "size": 64,
    "margin": 0,
    "width_mm": 55,
    "logo": False,
    "logo_size": 0.3,
    "frame": "bottom",
    "frame_text": "¡Escanéame!",
}


def code_style(code: dict[str, Any]) -> dict[str, Any]:
    return {name: code[name] for name in DEFAULT}


async def test_sets_every_field(env: Env) -> None:
    link = await env.links.make()
    before = await env.find(link)
    env.clock.move(timedelta(minutes=1))
    code = await env.set(link, **STYLE)
    assert code_style(code) == STYLE
    assert code["updated_at"] > code["created_at"] == before["created_at"]
    assert (code["id"], code["image_url"] == before["image_url"]) == (before["id"], False)
    assert await env.find(link) == code
    assert code_style(await env.find(await env.links.make())) == DEFAULT


@pytest.mark.parametrize(
    "rest",
    [
        {"json": {"style": "dots"}},
        {"json": {"style": "dots", "size": None, "color": 1} | dict.fromkeys(["foreground", "level", "margin"])},
        {"files": {"style": (None, "dots"), "size": (None, "")}},
    ],
    ids=["left out", "null", "empty in a form"],
)
async def test_resets_omitted_fields(env: Env, rest: Any) -> None:
    link = await env.links.make()
    await env.set(link, **STYLE)
    assert (await env.ask("POST", link, **rest)).status_code == 201
    assert code_style(await env.find(link)) == DEFAULT | {"style": "dots"}


async def test_sets_the_version_that_was_read(env: Env) -> None:
    link = await env.links.make()
    current = {"If-Match": (await env.ask("GET", link)).headers["ETag"]}
    env.clock.move(timedelta(minutes=1))
    answers = await asyncio.gather(
        *(env.ask("POST", link, headers=current, json={"margin": margin}) for margin in range(4))
    )
    assert sorted(answer.status_code for answer in answers) == [201, 412, 412, 412]
    assert (await env.ask("POST", link, headers={"If-None-Match": "*"})).status_code == 412
    assert (await env.ask("POST", link, headers={"If-Match": "*"})).status_code == 201


async def test_an_empty_body_sets_the_default_style(env: Env) -> None:
    link = await env.links.make()
    for rest in ({}, {"content": b""}, {"content": b"", "headers": {"Content-Type": "application/json"}}):
        await env.set(link, **STYLE)
        assert (await env.ask("POST", link, **rest)).status_code == 201
        assert code_style(await env.find(link)) == DEFAULT

    async def chunks() -> Any:
        yield b'{"margin":'
        yield b" 2}"

    answer = await env.ask("POST", link, content=chunks())
    assert code_style(answer.json()["data"]) == DEFAULT | {"margin": 2}


async def test_accepts_a_form(env: Env) -> None:
    link = await env.links.make()
    form = {name: (None, str(value)) for name, value in STYLE.items()}
    assert code_style((await env.ask("POST", link, files=form)).json()["data"]) == STYLE
    for text in ("1.5", "-1", "+5", "٣", "five", "9" * 5_000):
        answer = await env.ask("POST", link, files={"size": (None, text), "margin": (None, text), "logo": (None, text)})
        assert list(faults(answer)) == ["size", "margin", "logo"]


@pytest.mark.parametrize(
    ("sent", "stored"), [("#ABC", "#aabbcc"), ("#1a2B3c", "#1a2b3c"), ("#000", "#000000"), ("#FFFFFF", "#ffffff")]
)
async def test_normalizes_a_color(env: Env, sent: str, stored: str) -> None:
    code = await env.set(await env.links.make(), foreground=sent, background=sent)
    assert (code["foreground"], code["background"]) == (stored, stored)


WRONG: dict[str, list[Any]] = {
    "foreground": ["red", "rgb(0, 0, 0)", "hsl(0 0% 0%)", "transparent", "", "#", "#12", "#12345", "#1234567", "#ggg"],
    "background": ["#abcd", "#aabbccdd", "fff", " #fff", "#fff\n", "#\uff11\uff12\uff13", 0, ["#fff"], {}],
    "level": ["m", "X", "", "LM", 1, None.__class__.__name__],
    "style": ["Squares", "round", "", 1, ["dots"], True],
    "size": [63, 2049, -1, 0, 512.0, "512", True, 10**20, [512]],
    "margin": [-1, 11, 0.5, "4", False, {}, "", "four", 1e3],
    "logo": ["yes", "true", 1, 0, "", [], {}, "yes", 0.22],
    "logo_size": [0.0999, 0.31, 0, -0.2, "0.22", True, 1e300, [0.2], {}],
    "frame": ["Bottom", "top", "", True, None.__class__.__name__, ["none"], 0, {}, 1.5],
    "frame_text": ["", " ", "x" * 31, "Scan 📱", "סרוק אותי", "扫描", "a\nb", 5, ["SCAN"]],
}


async def test_rejects_an_invalid_style(env: Env) -> None:
    """All errors are reported at once, and nothing is saved."""
    link = await env.links.make()
    kept = await env.set(link, **STYLE)
    for number in range(max(map(len, WRONG.values()))):
        sent = {name: values[number % len(values)] for name, values in WRONG.items()}
        assert set(faults(await env.ask("POST", link, json=sent))) == set(WRONG), sent
    assert await env.find(link) == kept


@pytest.mark.parametrize(
    ("sent", "reported"),
    [("red", "names"), ("rgb(0,0,0)", "rgb()"), ("fff", "starts with #"), ("#abcd", "Transparent")],
)
async def test_explains_an_invalid_color(env: Env, sent: str, reported: str) -> None:
    [message] = faults(await env.ask("POST", await env.links.make(), json={"foreground": sent}))["foreground"]
    assert reported in message


async def test_a_missing_link_comes_before_invalid_fields(env: Env) -> None:
    link = await env.links.make()
    wrong = {"json": {"size": "large"}}
    answers = [await env.ask("POST", link, env.bob, **wrong), await env.ask("POST", {"id": uuid4()}, **wrong)]
    await env.links.delete(link)
    answers.append(await env.ask("POST", link, json=STYLE))
    assert [each.status_code for each in answers] == [404] * 3
