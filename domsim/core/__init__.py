"""The compiled core: arrays in, arrays out. It knows no agent file, no table and no terminal."""
