"""How the core's functions are compiled, and the few machine instructions they use.

Every rule is an ordinary Python function. `@rule` lets compiled code call it and leaves it plain Python otherwise, so
that a debugger and `NUMBA_DISABLE_JIT=1` work; `@kernel` compiles an entry point and keeps the result on disk.

Whole numbers in states are signed: numba turns a mix of unsigned and signed into floats without a word. Only random
words and keys are unsigned 64-bit, and only `core/rng.py` computes with them.
"""

import platform
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from llvmlite.binding import get_host_cpu_features
from numba import njit, types
from numba.extending import intrinsic, overload, register_jitable

Function = TypeVar("Function", bound=Callable[..., Any])

#: A state record as the core's functions see it: a numba record, or `plain.Plain`.
State = Any
#: The scratch record of a kernel (`driver.work_dtype`).
Work = Any


def rule(function: Function) -> Function:
    """Make a function callable from compiled code, inlined there; from Python it stays as it is."""
    jitable: Any = register_jitable(forceinline=True, error_model="numpy", nogil=True)
    return cast(Function, jitable(function))


def seldom(function: Function) -> Function:
    """Like `rule`, but left as a call: what is seldom needed would only crowd the loop around it."""
    jitable: Any = register_jitable(error_model="numpy", nogil=True)
    return cast(Function, jitable(function))


def kernel(function: Function) -> Function:
    """Compile an entry point: cached on disk, without the interpreter's lock."""
    return cast(Function, njit(cache=True, nogil=True, error_model="numpy")(function))


def overloads(stub: Callable[..., Any]) -> Callable[[Function], Function]:
    """Give the compiled form of a plain Python function (numba's `overload`, typed)."""
    return cast(Callable[[Function], Function], overload(stub, strict=False))


def _instruction(build: Callable[[Any, Any], Any]) -> Any:
    def op(typing_context: Any, x: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return build(builder, context.cast(builder, arguments[0], signature.args[0], types.uint64))

        return types.int64(x), generate

    return intrinsic(op)


_ctpop = _instruction(lambda builder, value: builder.ctpop(value))
_cttz = _instruction(lambda builder, value: builder.cttz(value, ir.Constant(ir.IntType(1), 0)))


def popcount(x: int) -> int:
    """Number of bits set; `x` is not negative."""
    return int(x).bit_count()


def lowest(x: int) -> int:
    """Place of the lowest bit set; `x` is above 0."""
    return (int(x) & -int(x)).bit_length() - 1


def select(x: int, k: int) -> int:
    """Place of the k-th bit set, from 0; `x` is a 64-bit number with more than `k` bits set."""
    for _ in range(k):
        x &= x - 1
    return lowest(x)


def gather(x: int, places: int) -> int:
    """The bits of `x` at the places set in `places`, side by side; both are 64-bit numbers, neither negative."""
    bits = 0
    width = 0
    while places != 0:
        bits |= (x >> lowest(places) & 1) << width
        places &= places - 1
        width += 1
    return bits


def index(x: int) -> int:
    """A number from 0 to 255 to be used as an index: compiled code then skips the test for negative ones."""
    return int(x)


@rule
def same(a: int, b: int) -> int:
    """1 when two numbers from 0 to 15 are equal, else 0.

    Written so that the compiler does not see a truth value: it would multiply by one with a jump, which for doubles
    and equal ends is taken at random.
    """
    return (1 << a) >> b & 1


@overloads(popcount)
def _popcount(x: Any) -> Any:
    return lambda x: _ctpop(x)


@overloads(lowest)
def _lowest(x: Any) -> Any:
    return lambda x: _cttz(x)


@overloads(index)
def _index(x: Any) -> Any:
    return lambda x: np.uint8(x)


def _select_table() -> npt.NDArray[np.uint8]:
    """Place of the k-th bit set of a byte, `(256 * 8,)`: byte, k."""
    places = np.zeros((256, 8), np.uint8)
    for byte in range(256):
        bits = [place for place in range(8) if byte >> place & 1]
        places[byte, : len(bits)] = bits
    return places.ravel()


_HAS_BMI2 = platform.machine() in ("x86_64", "AMD64") and bool(get_host_cpu_features().get("bmi2"))
_PLACES = _select_table()
_ONES, _HIGHS = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
_FIVES, _THREES, _FS = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333), np.uint64(0x0F0F0F0F0F0F0F0F)
_U1, _U2, _U3, _U4, _U7, _U8, _U56 = (np.uint64(n) for n in (1, 2, 3, 4, 7, 8, 56))


def _bmi2(name: str) -> Any:
    """An x86 instruction of two 64-bit words that moves bits."""

    def op(typing_context: Any, x: Any, y: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            words = ir.FunctionType(ir.IntType(64), [ir.IntType(64), ir.IntType(64)])
            values = [
                context.cast(builder, value, given, types.uint64)
                for value, given in zip(arguments, signature.args, strict=True)
            ]
            return builder.call(builder.module.declare_intrinsic(name, (), words), values)

        return types.int64(x, y), generate

    return intrinsic(op)


_deposit: Any = _bmi2("llvm.x86.bmi.pdep.64")
_extract: Any = _bmi2("llvm.x86.bmi.pext.64")


@overloads(select)
def _select(x: Any, k: Any) -> Any:
    """Without a branch: which bit is random by design. Where the machine has an instruction for it, in one; else by

    Vigna, Broadword implementation of rank/select queries, 2008. It is an eighth of a random ply's time.
    """
    if _HAS_BMI2:
        return lambda x, k: _cttz(_deposit(np.int64(1) << k, x))

    def places(x: int, k: int) -> Any:
        u = np.uint64(x)
        n = u - ((u >> _U1) & _FIVES)
        n = (n & _THREES) + ((n >> _U2) & _THREES)
        n = ((n + (n >> _U4)) & _FS) * _ONES  # bits set up to and with every byte
        rank = np.uint64(k)
        before = (((rank * _ONES) | _HIGHS) - n) & _HIGHS  # bytes that end at or before the place
        shift = ((before >> _U7) * _ONES >> _U56) << _U3
        rank = rank - (((n << _U8) >> shift) & np.uint64(255))
        return np.int64(shift) + np.int64(_PLACES[(((u >> shift) & np.uint64(255)) << _U3) | rank])

    return places


@overloads(gather)
def _gather(x: Any, places: Any) -> Any:
    """In one instruction where the machine has it; else as it stands."""
    return (lambda x, places: _extract(x, places)) if _HAS_BMI2 else gather
